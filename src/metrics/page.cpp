// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/page.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "metrics/html.hpp"
#include "metrics/page_frame.hpp"
#include "metrics/slowest_rank.hpp"

namespace dtrain::metrics {
namespace {

constexpr std::size_t max_ranks_shown = 128;
constexpr const char* throughput = "samples_per_second";
constexpr const char* learning_rate = "learning_rate";
constexpr const char* gpu_utilization = "gpu_utilization";
constexpr const char* gpu_watts = "gpu_watts";

/// The metric and the samples that a name stands for: "train_loss" is "loss" of "training".
struct Measure {
    std::string what;
    std::string line;
};

Measure measure_of(const std::string& name, const std::string& event) {
    const auto within = event == "step";
    if (const auto [part, what] = parted(name); !part.empty())
        return {std::string(what), part == "train"  ? "training, whole epoch"
                                   : part == "test" ? "test"
                                                    : "evaluation"};
    if (name == throughput || name == learning_rate || name == gpu_utilization || name == gpu_watts)
        return {name, within ? "within an epoch" : "whole epoch"};
    return {name, within ? "training, within an epoch" : "training, whole epoch"};
}

std::string title_of(const std::string& what) {
    if (what == throughput) return "Throughput";
    if (what == learning_rate) return "Learning rate";
    if (what == "auc") return "AUC";
    if (what == gpu_utilization) return "GPU utilization";
    if (what == gpu_watts) return "GPU power";
    auto title = what;
    if (!title.empty())
        title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
    return title;
}

std::string axis_of(const std::string& what) {
    if (what == throughput) return "samples/s";
    if (what == learning_rate) return "learning rate";
    if (what == "auc") return "AUC";
    if (what == gpu_utilization) return "% of the time";
    if (what == gpu_watts) return "W, of all ranks";
    return what;
}

int order_of(const Chart& chart) {
    constexpr std::array first{"Loss", "Accuracy", "AUC"};
    constexpr std::array last{"Learning rate", "Throughput", "GPU utilization", "GPU power"};
    const auto index_in = [&](const auto& titles) {
        return static_cast<int>(std::ranges::find(titles, chart.title) - titles.begin());
    };
    const auto in_last = index_in(last);
    return in_last == std::ssize(last) ? index_in(first) : static_cast<int>(first.size()) + 1 + in_last;
}

std::string tile(const std::string& name, const std::string& value) {
    return fmt::format("<div class=\"card\"><span class=\"soft\">{}</span><b>{}</b></div>", escaped(name),
                       escaped(value));
}

std::string tiles(const Run& run) {
    auto out = std::string("<div class=\"tiles\">") + tile("time", duration_text(run.seconds));
    std::set<std::string> hosts;
    for (const auto& location : run.locations) hosts.insert(location.host);
    if (!run.locations.empty())
        out +=
            tile("ranks", fmt::format("{} on {}", run.locations.size(), counted(std::ssize(hosts), "node")));
    if (!run.rows.empty()) {
        out += tile("steps", number_text(static_cast<double>(run.rows.back().step)));
        std::map<std::string, double> last;
        for (const auto& row : run.rows)
            for (const auto& [name, value] : row.values) last[name] = value;
        for (const auto& [name, label] :
             {std::array{"train_loss", "training loss"}, std::array{"test_loss", "test loss"},
              std::array{"test_accuracy", "test accuracy"}, std::array{"test_auc", "test AUC"},
              std::array{"eval_loss", "evaluation loss"}, std::array{"eval_accuracy", "evaluation accuracy"},
              std::array{throughput, "samples/s"}})
            if (last.contains(name)) out += tile(label, number_text(last.at(name)));
    }
    return out + "</div>";
}

std::string info_list(const std::vector<Fact>& info) {
    if (info.empty()) return "";
    std::string out = "<dl>";
    for (const auto& [name, value] : info)
        out += fmt::format("<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value));
    return out + "</dl>";
}

std::string failure_box(const std::optional<Failure>& failure) {
    if (!failure) return "";
    auto out =
        fmt::format("<section class=\"card failure\" id=\"failure\"><h2>{}</h2>", escaped(failure->headline));
    out += info_list(failure->info);
    if (!failure->text.empty()) out += fmt::format("<pre>{}</pre>", escaped(failure->text));
    return out + "</section>";
}

std::string left_out(std::size_t shown, std::size_t all) {
    if (shown >= all) return "";
    return fmt::format("<p class=\"soft\">{} of {} ranks; the others are in this page's data.</p>", shown,
                       all);
}

struct Phase {
    const char* name;
    const char* style;
    std::optional<double> (*seconds)(const RankTimes&);
};

constexpr std::array<Phase, 5> phases{
    {{"compute", "compute", [](const RankTimes& times) { return std::optional(times.compute); }},
     {"communicate", "communicate", [](const RankTimes& times) { return times.communicate; }},
     {"wait", "wait", [](const RankTimes& times) { return times.wait; }},
     {"input", "input", [](const RankTimes& times) { return std::optional(times.input); }},
     {"rest", "rest", [](const RankTimes& times) { return std::optional(times.rest); }}}};

/// The phases whose times are known for some rank.
std::vector<Phase> known_phases(const std::vector<RankTimes>& times) {
    std::vector<Phase> known;
    std::ranges::copy_if(phases, std::back_inserter(known), [&](const Phase& phase) {
        return std::ranges::any_of(times,
                                   [&](const RankTimes& rank) { return phase.seconds(rank).has_value(); });
    });
    return known;
}

/// Explains the times of exchanges, depending on which phases are known.
const char* exchange_words(const std::vector<Phase>& known) {
    const auto knows = [&](std::string_view name) {
        return std::ranges::find(known, name, &Phase::name) != known.end();
    };
    if (knows("wait")) return "Wait: for slower ranks. ";
    if (knows("communicate"))
        return "Communicate: also waiting for servers and other ranks; how long that takes is not known. ";
    return "Compute: also sums over ranks, and waiting for them, which the GPUs do in the same graph: how "
           "long these take is not known. ";
}

/// Table of the last slow epochs.
std::string slow_epochs_table(const Run& run) {
    constexpr std::size_t max_shown = 100;
    std::string out =
        "<details><summary>the slowest rank of each epoch</summary><div class=\"scroll\"><table><thead><tr>"
        "<th>epoch</th><th>rank</th><th>others waited [s]</th></tr></thead><tbody>";
    const auto& all = run.slow_epochs;
    for (auto number = all.size() - std::min(all.size(), max_shown); number < all.size(); ++number)
        out += fmt::format("<tr><td>{}</td><td>{}</td><td>{:.3f}</td></tr>", all[number].epoch,
                           all[number].rank, all[number].waited);
    return out + "</tbody></table></div></details>";
}

std::string phase_bars(const Run& run) {
    if (run.times.empty()) return "";
    double max = 1e-9;
    for (const auto& times : run.times) max = std::max(max, times.all());
    std::string out =
        "<section id=\"phases\"><h2>Where the time went</h2><div class=\"card\"><p class=\"legend\">";
    const auto known = known_phases(run.times);
    for (const auto& phase : known)
        out += fmt::format("<span><span class=\"swatch {}\"></span>{}</span> ", phase.style, phase.name);
    out += fmt::format(
        "</p><p class=\"soft\">Seconds of each rank. {}Input: until the next batch is there; rest: tests, "
        "checkpoints and all else between steps.</p>",
        exchange_words(known));
    if (const auto slowest = slowest_rank(run); !slowest.empty())
        out += fmt::format("<p>{}</p>", escaped(slowest));
    if (const auto epochs = slow_epochs_text(run); !epochs.empty())
        out += fmt::format("<p>{}</p>{}", escaped(epochs), slow_epochs_table(run));
    out += "<div class=\"bars\">";
    const auto shown = std::min(run.times.size(), max_ranks_shown);
    for (std::size_t number = 0; number < shown; ++number) {
        const auto& times = run.times[number];
        out += fmt::format("<span class=\"who\">rank {}</span><div class=\"bar\">", times.rank);
        for (const auto& phase : known) {
            const auto seconds = phase.seconds(times).value_or(0);
            out += fmt::format("<i class=\"{0}\" style=\"width:{1:.2f}%\" title=\"{2}: {3}\"></i>",
                               phase.style, 100 * seconds / max, phase.name, duration_text(seconds));
        }
        out += "</div>";
    }
    out += fmt::format("<span></span><div class=\"axisline\"><span>0 s</span><span>{}</span></div></div>",
                       duration_text(max));
    out += left_out(shown, run.times.size());
    out += "<details><summary>values</summary><div class=\"scroll\"><table><thead><tr><th>rank</th>";
    for (const auto& phase : known) out += fmt::format("<th>{} [s]</th>", phase.name);
    out += "</tr></thead><tbody>";
    for (std::size_t number = 0; number < shown; ++number) {
        out += fmt::format("<tr><td>{}</td>", run.times[number].rank);
        for (const auto& phase : known) {
            const auto seconds = phase.seconds(run.times[number]);
            out += seconds ? fmt::format("<td>{:.3f}</td>", *seconds) : "<td>-</td>";
        }
        out += "</tr>";
    }
    return out + "</tbody></table></div></details></div></section>";
}

std::string gpu_table(const Run& run) {
    if (run.gpus.empty()) return "";
    const auto cell = [](const std::optional<double>& value, double unit) {
        return value ? fmt::format("<td>{:.1f}</td>", *value / unit) : std::string("<td>-</td>");
    };
    std::string out =
        "<section id=\"gpus\"><h2>GPUs</h2><div class=\"card\"><p class=\"soft\">Of each rank's GPUs: the "
        "part of the time in which they computed, the power of all together, the most memory that one had in "
        "use, the hottest moment.</p><div class=\"scroll\"><table><thead><tr><th>rank</th><th>utilization "
        "[%]</th><th>power [W]</th><th>memory [GB]</th><th>hottest [°C]</th></tr></thead><tbody>";
    const auto shown = std::min(run.gpus.size(), max_ranks_shown);
    for (std::size_t number = 0; number < shown; ++number) {
        const auto& gpus = run.gpus[number];
        out += fmt::format("<tr><td>{}</td>{}{}{}{}</tr>", gpus.rank, cell(gpus.utilization, 1),
                           cell(gpus.watts, 1), cell(gpus.memory, 1e9), cell(gpus.celsius, 1));
    }
    return out + "</tbody></table></div>" + left_out(shown, run.gpus.size()) + "</div></section>";
}

/// The ranks that are shown: those that did not end with success, then the first ones.
std::vector<int> ranks_of_timeline(const std::vector<RankSpan>& spans) {
    std::set<int> chosen, all;
    for (const auto& span : spans) {
        all.insert(span.rank);
        if (span.state == "failed" || span.state == "lost") chosen.insert(span.rank);
    }
    while (chosen.size() > max_ranks_shown) chosen.erase(std::prev(chosen.end()));
    for (const int rank : all)
        if (chosen.size() < max_ranks_shown) chosen.insert(rank);
    return {chosen.begin(), chosen.end()};
}

std::string timeline(const Run& run) {
    if (run.spans.empty()) return "";
    double max = std::max(run.seconds, 1e-9);
    std::map<int, std::vector<const RankSpan*>> of_rank;
    for (const auto& span : run.spans) {
        max = std::max(max, span.end);
        of_rank[span.rank].push_back(&span);
    }
    std::string out =
        "<section id=\"timeline\"><h2>Timeline of the ranks</h2><div class=\"card\"><p class=\"legend "
        "life\"><span><span "
        "class=\"swatch done\"></span>ran</span> <span><span class=\"swatch failed\"></span>failed</span> "
        "<span><span class=\"swatch stopped\"></span>was stopped</span></p><div class=\"bars\">";
    const auto shown = ranks_of_timeline(run.spans);
    for (const int rank : shown) {
        out += fmt::format("<span class=\"who\">rank {}</span><div class=\"bar life\">", rank);
        for (const auto* span : of_rank[rank])
            out += fmt::format(
                "<i class=\"{}\" style=\"left:{:.2f}%;width:{:.2f}%\" title=\"{}\"></i>",
                escaped(span->state), 100 * span->begin / max, 100 * (span->end - span->begin) / max,
                escaped(fmt::format("start {}: {} to {}: {}", span->start, duration_text(span->begin),
                                    duration_text(span->end), span->text)));
        out += "</div>";
        for (const auto* span : of_rank[rank])
            if (span->state == "failed" || span->state == "lost")
                out += fmt::format(
                    "<span class=\"how\">{}<span class=\"state {}\">{}</span> after {}: {}</span>",
                    span->start > 1 || of_rank[rank].size() > 1 ? fmt::format("start {}: ", span->start) : "",
                    escaped(span->state), escaped(span->state), duration_text(span->end - span->begin),
                    escaped(span->text));
    }
    out += fmt::format("<span></span><div class=\"axisline\"><span>0 s</span><span>{}</span></div></div>",
                       duration_text(max));
    return out + left_out(shown.size(), of_rank.size()) + "</div></section>";
}

std::string placement(const Run& run) {
    if (run.locations.empty()) return "";
    std::vector<std::string> hosts;
    std::map<std::string, std::vector<const RankLocation*>> of_host;
    for (const auto& location : run.locations) {
        auto& on_host = of_host[location.host];
        if (on_host.empty()) hosts.push_back(location.host);
        on_host.push_back(&location);
    }
    std::string out = "<section id=\"placement\"><h2>Placement</h2><div class=\"nodes\">";
    std::size_t shown = 0;
    for (const auto& host : hosts) {
        if (shown >= max_ranks_shown) break;
        const auto& on_host = of_host[host];
        const bool with_roles =
            std::ranges::any_of(on_host, [](const auto* location) { return location->role != "trainer"; });
        out += fmt::format(
            "<div class=\"card\"><h3>{} <span class=\"soft\">({})</span></h3><div "
            "class=\"scroll\"><table><thead><tr>"
            "<th>rank</th>{}<th>GPU</th><th>cores</th></tr></thead><tbody>",
            escaped(host), counted(std::ssize(on_host), "rank"), with_roles ? "<th>role</th>" : "");
        for (const auto* location : on_host)
            out += fmt::format("<tr><td>{}</td>{}<td>{}</td><td>{}</td></tr>", location->rank,
                               with_roles ? "<td>" + escaped(location->role) + "</td>" : "",
                               location->gpus.empty() ? "-" : escaped(join(location->gpus, ", ")),
                               location->cpus.empty() ? "-" : escaped(location->cpus));
        out += "</tbody></table></div></div>";
        shown += on_host.size();
    }
    return out + "</div>" + left_out(shown, run.locations.size()) + "</section>";
}

std::string events(const Run& run) {
    if (run.events.empty()) return "";
    std::string out = "<section id=\"events\"><h2>Events</h2><div class=\"card\"><ol class=\"events\">";
    for (const auto& event : run.events)
        out += fmt::format("<li><time>{}</time><span{}>{}</span></li>", duration_text(event.seconds),
                           event.is_bad ? " class=\"bad\"" : "", escaped(event.text));
    return out + "</ol></div></section>";
}

}  // namespace

std::vector<Chart> charts_of(const std::vector<MetricRow>& rows) {
    std::vector<Chart> charts;
    for (const auto& row : rows)
        for (const auto& [name, value] : row.values) {
            const auto [what, line_name] = measure_of(name, row.event);
            auto chart = std::ranges::find(charts, title_of(what), &Chart::title);
            if (chart == charts.end())
                chart = charts.insert(charts.end(), {title_of(what), "step", axis_of(what), {}});
            auto line = std::ranges::find(chart->lines, line_name, &ChartLine::name);
            if (line == chart->lines.end()) line = chart->lines.insert(line, {line_name, {}});
            line->points.push_back({static_cast<double>(row.step), value});
            const auto source = row.event + " " + name;
            if (std::ranges::find(line->sources, source) == line->sources.end())
                line->sources.push_back(source);
        }
    std::ranges::stable_sort(charts, {}, order_of);
    return charts;
}

std::string page_html(const Run& run) {
    auto out = page_begin(run.title + " - " + run.outcome);
    out += fmt::format(
        "<header><h1>{}</h1><p><span class=\"state {}\">{}</span> <span class=\"soft\">began {}, {} "
        "{}</span></p>"
        "</header>\n",
        escaped(run.title), escaped(run.outcome), escaped(run.outcome), moment_text(run.began),
        run.outcome == "running" ? "written after" : "took", duration_text(run.seconds));
    for (const auto& part : {failure_box(run.failure), tiles(run), curve_section(charts_of(run.rows)),
                             phase_bars(run), gpu_table(run), timeline(run), placement(run), events(run)})
        out += part + "\n";
    if (!run.info.empty())
        out += "<section><h2>About this run</h2><div class=\"card\">" + info_list(run.info) +
               "</div></section>\n";
    return out + page_end("run", run_json(run));
}

}  // namespace dtrain::metrics
