// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/chart.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "metrics/html.hpp"

namespace dtrain::metrics {
namespace {

// One unit is about one pixel of a phone's screen.
constexpr double width = 360, height = 230;
constexpr double left = 64, right = 12, top = 12, bottom = 40;
constexpr std::size_t max_drawn = 700;
constexpr std::size_t max_listed = 400;
constexpr std::size_t max_dots = 40;
constexpr std::size_t max_thick = 200;
constexpr std::size_t chart_colours = 8;  // of the style sheet, each with dashes of its own
constexpr double dot = 2.2;

struct Extent {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();

    void include(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    /// Makes the range non-empty, so that its length can be a divisor.
    void widen() {
        if (low > high) *this = {0, 1};
        if (low < high) return;
        const auto around = low == 0 ? 1 : std::abs(low) * 0.1;
        low -= around;
        high += around;
    }
};

bool is_drawn(const ChartPoint& point) {
    return std::isfinite(point.x) && std::isfinite(point.y);
}

/// The lowest and the highest point of each segment, in their order; for a segment without numbers, one
/// point.
std::vector<ChartPoint> fewer(const std::vector<ChartPoint>& points) {
    if (points.size() <= max_drawn) return points;
    const auto segment = (2 * points.size() + max_drawn - 1) / max_drawn;
    std::vector<ChartPoint> out;
    for (std::size_t first = 0; first < points.size(); first += segment) {
        const auto end = std::min(first + segment, points.size());
        auto low = first, high = first;
        for (auto at = first; at < end; ++at) {
            if (!is_drawn(points[at])) continue;
            if (!is_drawn(points[low]) || points[at].y < points[low].y) low = at;
            if (!is_drawn(points[high]) || points[at].y > points[high].y) high = at;
        }
        out.push_back(points[std::min(low, high)]);
        if (low != high) out.push_back(points[std::max(low, high)]);
    }
    return out;
}

std::size_t colour_of(const ChartLine& line, std::size_t number) {
    return line.run.value_or(number) % chart_colours;
}

std::string source_list(const ChartLine& line) {
    return nlohmann::json(line.sources).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Picture {
  public:
    explicit Picture(const Chart& chart) : chart_(chart) {
        for (const auto& line : chart.lines)
            for (const auto& point : line.points)
                if (is_drawn(point)) {
                    x_.include(point.x);
                    y_.include(point.y);
                }
        x_.widen();
        y_.widen();
        const auto room = (y_.high - y_.low) * 0.06;
        const bool from_zero = y_.low >= 0 && y_.low < (y_.high - y_.low);
        y_ = {from_zero ? 0 : y_.low - room, y_.high + room};
    }

    std::string svg() const {
        auto out = fmt::format(
            "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" "
            "data-frame=\"{} {} {} {}\">",
            width, height, escaped(chart_.title + ": " + chart_.y_name + " by " + chart_.x_name), left,
            width - right, top, height - bottom);
        out += axes();
        // A nested svg element clips what is outside of it.
        out += fmt::format(
            "<svg class=\"lines\" x=\"{0}\" y=\"0\" width=\"{1}\" height=\"{2}\" viewBox=\"{0} 0 {1} {2}\">",
            left - dot, width - left - right + 2 * dot, height - bottom + dot);
        for (std::size_t number = 0; number < chart_.lines.size(); ++number)
            out += line(chart_.lines[number], number);
        out += fmt::format(
            "</svg><rect class=\"band\" y=\"{0}\" width=\"0\" height=\"{1}\"/><line class=\"cursor\" "
            "y1=\"{0}\" y2=\"{2}\" x1=\"0\" x2=\"0\"/>",
            top, height - top - bottom, height - bottom);
        return out + "</svg>";
    }

  private:
    double at_x(double x) const { return left + (x - x_.low) / (x_.high - x_.low) * (width - left - right); }
    double at_y(double y) const {
        return height - bottom - (y - y_.low) / (y_.high - y_.low) * (height - top - bottom);
    }

    std::string axes() const {
        std::string out = "<g class=\"ticks\">";
        for (const double y : round_numbers(y_.low, y_.high, 5))
            out += fmt::format(
                "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text "
                "x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>",
                left, width - right, at_y(y), left - 5, at_y(y) + 3.5, tick(y));
        for (const double x : round_numbers(x_.low, x_.high, 5))
            out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", at_x(x),
                               height - bottom + 14, tick(x));
        out += fmt::format("</g><line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>", left,
                           width - right, height - bottom);
        out += fmt::format("<text class=\"name\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                           (left + width - right) / 2, height - 8, escaped(chart_.x_name));
        return out + fmt::format(
                         "<text class=\"name\" transform=\"translate(11 {}) rotate(-90)\" "
                         "text-anchor=\"middle\">{}</text>",
                         (top + height - bottom) / 2, escaped(chart_.y_name));
    }

    static std::string tick(double value) {
        const auto size = std::abs(value);
        if (size >= 1e6) return fmt::format("{:.12g}M", value / 1e6);
        if (size >= 1e4) return fmt::format("{:.12g}k", value / 1e3);
        return fmt::format("{:.12g}", value);
    }

    std::string line(const ChartLine& line, std::size_t number) const {
        std::string path;
        const auto points = fewer(line.points);
        const auto colour = colour_of(line, number);
        const ChartPoint* before = nullptr;
        for (const auto& point : points) {
            const bool goes_on = before != nullptr && before->x <= point.x;
            before = is_drawn(point) ? &point : nullptr;
            if (before != nullptr)
                path += fmt::format("{}{:.1f} {:.1f}", goes_on ? "L" : "M", at_x(point.x), at_y(point.y));
        }
        auto out = fmt::format("<path class=\"line c{}{}\" d=\"{}\"/>", colour,
                               points.size() > max_thick ? " thin" : "", path);
        if (points.size() <= max_dots)
            for (const auto& point : points)
                if (is_drawn(point))
                    out += fmt::format("<circle class=\"c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", colour,
                                       at_x(point.x), at_y(point.y), dot);
        return out;
    }

    const Chart& chart_;
    Extent x_, y_;
};

}  // namespace

std::vector<double> round_numbers(double low, double high, int max) {
    std::vector<double> out;
    if (!(high > low) || !std::isfinite(high - low)) return out;
    const auto rough = (high - low) / max;
    auto step = std::pow(10, std::floor(std::log10(rough)));
    for (const double times : {1.0, 2.0, 2.5, 5.0, 10.0})
        if (step * times >= rough) {
            step *= times;
            break;
        }
    const auto first = std::ceil(low / step - 1e-9);
    for (double number = first; number * step <= high + step * 1e-9; ++number)
        out.push_back(number * step + 0.0);
    return out;
}

std::string line_key(std::size_t number) {
    return fmt::format(
        "<svg class=\"key\" viewBox=\"0 0 22 8\" aria-hidden=\"true\"><path class=\"line c{}\" d=\"M0 "
        "4H22\"/></svg>",
        number % chart_colours);
}

std::string chart_svg(const Chart& chart) {
    auto out = Picture(chart).svg();
    out += "<p class=\"legend\">";
    for (std::size_t number = 0; number < chart.lines.size(); ++number) {
        const auto& line = chart.lines[number];
        const auto last = std::ranges::find_if(line.points.rbegin(), line.points.rend(), is_drawn);
        out += fmt::format("<button type=\"button\" disabled{} data-sources=\"{}\">{}{} <b>{}</b></button> ",
                           line.run ? fmt::format(" data-run=\"{}\"", *line.run) : "",
                           escaped(source_list(line)), line_key(colour_of(line, number)), escaped(line.name),
                           last == line.points.rend() ? "-" : number_text(last->y));
    }
    return out + "</p>";
}

std::string chart_table(const Chart& chart) {
    std::set<double> all;
    for (const auto& line : chart.lines)
        for (const auto& point : line.points) all.insert(point.x);
    auto out = fmt::format("<table><thead><tr><th>{}</th>", escaped(chart.x_name));
    std::vector<std::map<double, double>> values;
    for (const auto& line : chart.lines) {
        out += fmt::format("<th>{}</th>", escaped(line.name));
        auto& of_line = values.emplace_back();
        for (const auto& point : line.points) of_line[point.x] = point.y;
    }
    out += "</tr></thead><tbody>";
    const auto left_out = all.size() > max_listed ? all.size() - max_listed : 0;
    auto x = all.begin();
    std::advance(x, static_cast<std::ptrdiff_t>(left_out));
    for (; x != all.end(); ++x) {
        out += fmt::format("<tr><td>{}</td>", number_text(*x));
        for (const auto& of_line : values) {
            const auto value = of_line.find(*x);
            out += fmt::format("<td>{}</td>", value == of_line.end() ? "" : number_text(value->second));
        }
        out += "</tr>";
    }
    out += "</tbody></table>";
    return left_out > 0 ? fmt::format("<p>The last {} of {} rows.</p>", max_listed, all.size()) + out : out;
}

}  // namespace dtrain::metrics
