// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/page_frame.hpp"

#include <utility>

#include <fmt/format.h>

#include "metrics/html.hpp"
#include "metrics/page_style.hpp"

namespace dtrain::metrics {

std::string page_begin(std::string_view title) {
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; "
        "script-src 'unsafe-inline'\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n",
        escaped(title), page_style);
}

std::string curve_section(const std::vector<Chart>& charts, std::string_view legend) {
    if (charts.empty()) return "";
    auto out = fmt::format(
        "<section id=\"curves\"><h2>Curves</h2><p class=\"soft hint\" hidden>Drag over a curve to zoom "
        "in; double-click to see all again. A click on a {} name hides it. <button type=\"button\" "
        "class=\"whole\" hidden>whole run</button></p><div class=\"controls\" hidden>"
        "<label>smoothing <input type=\"range\" class=\"smoothing\" min=\"0\" max=\"0.99\" step=\"0.01\" "
        "value=\"0\"> <output>0</output></label><label>by <select class=\"axis-choice\"><option "
        "value=\"step\">step</option><option value=\"seconds\">time</option></select></label></div>{}<div "
        "class=\"charts\">",
        charts.front().lines.front().run ? "run's" : "line's", legend);
    for (const auto& chart : charts)
        out += fmt::format(
            "<div class=\"card curve\"><h3>{}{}</h3>{}<p "
            "class=\"reading\"></p><details><summary>values</summary><div "
            "class=\"scroll\">{}</div></details></div>",
            escaped(chart.title),
            chart.part.empty() ? "" : fmt::format(" <span class=\"soft\">{}</span>", escaped(chart.part)),
            chart_svg(chart), chart_table(chart));
    return out + "</div></section>";
}

std::string data_begin(std::string_view id) {
    return fmt::format("<script type=\"application/json\" id=\"{}\">", id);
}

std::string page_end(std::string_view id, std::string json) {
    return fmt::format("</main>\n{}{}{}\n<script>{}</script>\n</body>\n</html>\n", data_begin(id),
                       for_script(std::move(json)), data_end, page_script);
}

}  // namespace dtrain::metrics
