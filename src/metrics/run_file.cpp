// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/run_file.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "base/regular_file.hpp"
#include "base/text.hpp"
#include "metrics/page_frame.hpp"

namespace dtrain::metrics {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> keys_of_all_rows{"time", "seconds", "event", "epoch", "step"};

std::string no_run(const std::filesystem::path& file) {
    return fmt::format(
        "{} tells of no run; name a page (--report FILE.html) or a file of JSON lines (--metrics FILE)",
        file.string());
}

/// What a page holds as its data; nothing when it is no page of a run.
std::optional<std::string_view> data_of_page(std::string_view text) {
    const auto begins = data_begin("run");
    const auto begin = text.find(begins);
    if (begin == std::string_view::npos) return std::nullopt;
    text.remove_prefix(begin + begins.size());
    return text.substr(0, text.find(data_end));
}

std::int64_t whole_number(const Json& line, const char* key) {
    return line.at(key).get_ref<const Json::number_integer_t&>();  // throws for 1.5, which get() would round
}

MetricRow row_of_line(const Json& line) {
    MetricRow row{.event = line.at("event"),
                  .time = line.at("time"),
                  .seconds = line.at("seconds"),
                  .epoch = whole_number(line, "epoch"),
                  .step = whole_number(line, "step")};
    for (const auto& [name, value] : line.items()) {
        if (std::ranges::find(keys_of_all_rows, name) != keys_of_all_rows.end()) continue;
        if (value.is_number()) row.values.push_back({name, value.get<double>()});
        if (value.is_null()) row.values.push_back({name, std::numeric_limits<double>::quiet_NaN()});
    }
    return row;
}

Run run_of_begin(const Json& line) {
    Run run{.title = line.at("title"), .began = line.at("time")};
    for (const auto& [name, value] : line.items())
        if (value.is_string() && name != "event" && name != "title") run.info.push_back({name, value});
    return run;
}

/// Puts runs together from lines, in their order.
class LinesOfRuns {
  public:
    void add(const Json& line) {
        const std::string event = line.at("event");
        if (event == "begin") begin(run_of_begin(line));
        if (event == "step" || event == "epoch") add_row(row_of_line(line));
        if (event == "end") end(line);
    }

    std::vector<Run> runs() && { return std::move(runs_); }

  private:
    void begin(Run run) {
        runs_.push_back(std::move(run));
        before_ = 0;
    }

    void add_row(MetricRow row) {
        if (runs_.empty()) begin({.began = row.time - row.seconds});
        if (runs_.size() > 1 && runs_.back().rows.empty() && row.epoch > 1) join_last_two();
        row.seconds += before_;
        runs_.back().seconds = row.seconds;
        runs_.back().rows.push_back(std::move(row));
    }

    void end(const Json& line) {
        if (runs_.empty()) begin({.began = line.at("time")});
        auto& run = runs_.back();
        run.seconds = before_ + line.at("seconds").get<double>();
        run.outcome = line.at("outcome");
        if (line.contains("failure")) run.failure = Failure{.headline = line.at("failure"), .text = ""};
    }

    /// The last one goes on with the one before.
    void join_last_two() {
        auto later = std::move(runs_.back());
        runs_.pop_back();
        auto& run = runs_.back();
        before_ = run.seconds;
        run.outcome = later.outcome;
        run.failure = std::nullopt;
        run.info = std::move(later.info);
    }

    std::vector<Run> runs_;
    double before_ = 0;  ///< seconds of the starts before
};

std::vector<Run> runs_of_lines(std::string_view text, const std::filesystem::path& file) {
    LinesOfRuns found;
    bool is_first = true;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto end = text.find('\n');
        if (end == std::string_view::npos && number > 1) break;
        const auto line = trimmed(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.empty()) continue;
        try {
            const auto json = Json::parse(line);
            if (is_first && !json.contains("event")) throw UsageError(no_run(file));
            found.add(json);
            is_first = false;
        } catch (const Json::exception&) {
            if (is_first) throw UsageError(no_run(file));
            throw UsageError(fmt::format("{}, line {} is none that --metrics writes: {}", file.string(),
                                         number, one_line(line, 80)));
        }
    }
    return std::move(found).runs();
}

}  // namespace

std::vector<Run> runs_of_text(std::string_view text, const std::filesystem::path& file) {
    if (const auto data = data_of_page(text)) {
        if (auto run = parse_run(*data)) return {std::move(*run)};
        throw UsageError(fmt::format("{} is a page of another version of dtrain, or damaged", file.string()));
    }
    if (auto run = parse_run(text)) return {std::move(*run)};
    auto runs = runs_of_lines(text, file);
    if (runs.empty()) throw UsageError(no_run(file));
    return runs;
}

std::vector<Run> read_runs(const std::filesystem::path& file) {
    return runs_of_text(read_regular_file(file), file);
}

}  // namespace dtrain::metrics
