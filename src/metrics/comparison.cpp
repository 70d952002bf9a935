// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "metrics/html.hpp"
#include "metrics/page.hpp"
#include "metrics/page_frame.hpp"

namespace dtrain::metrics {
namespace {

constexpr std::array<std::string_view, 2> names_of_runs{"job", "logs"};
constexpr std::string_view rate_axis = "samples/s";

std::string head_of_runs(const std::vector<NamedRun>& runs) {
    std::string out = "<thead><tr><th></th>";
    for (std::size_t number = 0; number < runs.size(); ++number)
        out += fmt::format("<th>{}{}</th>", line_key(number), escaped(runs[number].name));
    return out + "</tr></thead>";
}

/// Nothing when no run has a value.
std::string row_of_runs(std::string_view name, const std::vector<std::string>& values) {
    if (std::ranges::all_of(values, &std::string::empty)) return "";
    auto out = fmt::format("<tr><td>{}</td>", escaped(name));
    for (const auto& value : values) out += fmt::format("<td>{}</td>", value.empty() ? "-" : escaped(value));
    return out + "</tr>";
}

std::string ranks_text(const Run& run) {
    if (run.locations.empty()) return "";
    std::set<std::string> hosts;
    for (const auto& location : run.locations) hosts.insert(location.host);
    return fmt::format("{} on {}", run.locations.size(), counted(std::ssize(hosts), "node"));
}

std::string count_text(const Run& run, std::int64_t MetricRow::*count) {
    if (run.rows.empty()) return "";
    return number_text(static_cast<double>(std::ranges::max(run.rows, {}, count).*count));
}

std::string name_of_chart(const Chart& chart) {
    return chart.part.empty() ? chart.title : chart.title + ", " + chart.part;
}

bool is_of_epochs(const ChartLine& line) {
    return std::ranges::any_of(
        line.sources, [](const std::string& source) { return source.find(" epoch ") != std::string::npos; });
}

/// Curves within epochs are noise at their end: they are left out where the same is known of whole ones.
std::vector<Chart> charts_with_an_end(const std::vector<Chart>& charts) {
    std::set<std::string> of_epochs;
    const auto has_epochs = [](const Chart& chart) { return std::ranges::any_of(chart.lines, is_of_epochs); };
    for (const auto& chart : charts)
        if (has_epochs(chart)) of_epochs.insert(chart.title);
    auto out = charts;
    std::erase_if(out,
                  [&](const Chart& chart) { return of_epochs.contains(chart.title) && !has_epochs(chart); });
    return out;
}

/// The last number; of a rate, which the machine's other work changes, the mean. Nothing when there is no
/// number.
std::optional<double> end_of(const ChartLine& line, bool is_rate) {
    double seconds = 0;  // for one sample of each epoch, which have equally many
    int count = 0;
    std::optional<double> last;
    for (const auto& [x, y] : line.points) {
        if (!std::isfinite(y) || (is_rate && y <= 0)) continue;
        last = y;
        if (is_rate) seconds += 1 / y;
        ++count;
    }
    return is_rate && last ? count / seconds : last;
}

std::string row_of_ends(const Chart& chart, std::size_t runs) {
    const bool is_rate = chart.y_name == rate_axis;
    std::vector<std::string> values(runs);
    for (const auto& line : chart.lines)
        if (const auto end = end_of(line, is_rate)) values.at(*line.run) = number_text(*end);
    return row_of_runs(name_of_chart(chart) + (is_rate ? ", mean" : ""), values);
}

std::string table_of_runs(const std::vector<NamedRun>& runs, const std::vector<Chart>& charts) {
    std::string out =
        "<section id=\"compared\"><h2>Runs</h2><div class=\"card\"><div class=\"scroll "
        "compared\"><table>" +
        head_of_runs(runs) + "<tbody>";
    const auto add = [&](std::string_view name, const std::function<std::string(const Run&)>& text) {
        std::vector<std::string> values;
        for (const auto& [run_name, run] : runs) values.push_back(text(run));
        out += row_of_runs(name, values);
    };
    add("outcome", [](const Run& run) { return run.outcome; });
    add("failure", [](const Run& run) { return run.failure ? run.failure->headline : ""; });
    add("began", [](const Run& run) { return moment_text(run.began); });
    add("time", [](const Run& run) { return duration_text(run.seconds); });
    add("ranks", ranks_text);
    add("epochs", [](const Run& run) { return count_text(run, &MetricRow::epoch); });
    add("steps", [](const Run& run) { return count_text(run, &MetricRow::step); });
    for (const auto& chart : charts_with_an_end(charts)) out += row_of_ends(chart, runs.size());
    return out + "</tbody></table></div></div></section>\n";
}

std::string settings_table(const std::vector<NamedRun>& runs, const std::vector<ComparedSetting>& settings,
                           bool differing) {
    std::string rows;
    for (const auto& setting : settings)
        if (setting.differs == differing) rows += row_of_runs(setting.name, setting.values);
    if (rows.empty()) return "";
    return "<div class=\"scroll compared\"><table>" + head_of_runs(runs) + "<tbody>" + rows +
           "</tbody></table></div>";
}

std::string settings_section(const std::vector<NamedRun>& runs) {
    const auto settings = compared_settings(runs);
    if (settings.empty()) return "";
    const auto differing = settings_table(runs, settings, true);
    const auto same = settings_table(runs, settings, false);
    auto out = "<section id=\"settings\"><h2>Settings that differ</h2><div class=\"card\">" +
               (differing.empty() ? std::string("<p>None of those that the runs tell.</p>") : differing);
    if (!same.empty()) out += "<details><summary>those that are the same</summary>" + same + "</details>";
    return out + "</div></section>\n";
}

std::string legend_of_runs(const std::vector<NamedRun>& runs) {
    std::string out = "<p class=\"legend runs\">";
    for (std::size_t number = 0; number < runs.size(); ++number)
        out += fmt::format("<button type=\"button\" disabled data-run=\"{}\">{}{}</button> ", number,
                           line_key(number), escaped(runs[number].name));
    return out + "</p>";
}

std::string json_of_runs(const std::vector<NamedRun>& runs) {
    std::string out = "[";
    for (const auto& [name, run] : runs) {
        const Run kept{.title = run.title,
                       .outcome = run.outcome,
                       .began = run.began,
                       .seconds = run.seconds,
                       .info = run.info,
                       .rows = run.rows};
        out += out.size() > 1 ? ",{\"name\":" : "{\"name\":";
        append_json_string(out, name);
        out += ",\"run\":" + run_json(kept) + "}";
    }
    return out + "]";
}

}  // namespace

std::vector<ComparedSetting> compared_settings(const std::vector<NamedRun>& runs) {
    std::vector<ComparedSetting> settings;
    for (std::size_t number = 0; number < runs.size(); ++number) {
        auto info = runs[number].run.info;
        info.insert(info.begin(), Fact{"title", runs[number].run.title});
        for (const auto& [name, value] : info) {
            if (std::ranges::find(names_of_runs, name) != names_of_runs.end()) continue;
            auto setting = std::ranges::find(settings, name, &ComparedSetting::name);
            if (setting == settings.end())
                setting =
                    settings.insert(setting, {.name = name, .values = std::vector<std::string>(runs.size())});
            setting->values[number] = value;
        }
    }
    for (auto& [name, values, differs] : settings)
        differs = std::ranges::adjacent_find(values, std::not_equal_to()) != values.end();
    return settings;
}

std::vector<Chart> compared_charts(const std::vector<NamedRun>& runs) {
    std::vector<MetricRow> rows;
    for (const auto& [name, run] : runs) rows.insert(rows.end(), run.rows.begin(), run.rows.end());
    std::vector<Chart> charts;
    for (const auto& chart : charts_of(rows))
        for (const auto& line : chart.lines)
            charts.push_back({chart.title, chart.x_name, chart.y_name, {}, line.name});
    for (std::size_t number = 0; number < runs.size(); ++number)
        for (const auto& of_run : charts_of(runs[number].run.rows))
            for (auto line : of_run.lines) {
                const auto chart = std::ranges::find_if(charts, [&](const Chart& each) {
                    return each.title == of_run.title && each.part == line.name;
                });
                for (auto& source : line.sources) source = fmt::format("{} {}", number, source);
                line.name = runs[number].name;
                line.run = number;
                chart->lines.push_back(std::move(line));
            }
    return charts;
}

std::string comparison_html(const std::vector<NamedRun>& runs) {
    const auto charts = compared_charts(runs);
    const auto title = fmt::format("{} compared", counted(std::ssize(runs), "run"));
    std::vector<std::string> names;
    for (const auto& [name, run] : runs) names.push_back(name);
    return page_begin(join(names, ", ")) + fmt::format("<header><h1>{}</h1></header>\n", title) +
           table_of_runs(runs, charts) + settings_section(runs) +
           curve_section(charts, legend_of_runs(runs)) + "\n" + page_end("runs", json_of_runs(runs));
}

}  // namespace dtrain::metrics
