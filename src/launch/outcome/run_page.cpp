// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/outcome/run_page.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "launch/outcome/report_file.hpp"
#include "metrics/page.hpp"

namespace dtrain::launch {
namespace {

constexpr std::size_t max_events = 200;

/// "failed", "lost" or "stopped", by rank; ranks that ended with success are not included.
struct BadEnd {
    std::string state;
    std::string text;
};

std::map<int, BadEnd> bad_ends(const FailureReport& report) {
    std::map<int, BadEnd> ends;
    const auto add = [&](const std::vector<RankEnd>& those, const char* state) {
        for (const auto& end : those)
            ends.emplace(end.rank,
                         BadEnd{end.how == RankEnd::How::vanished ? "lost" : state, how_it_ended(end)});
    };
    add(report.failed, "failed");
    add(report.stopped, "stopped");
    add(report.silent, "lost");
    return ends;
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

metrics::Failure failure_of(const FailureReport& report) {
    const auto text = report_text(report);
    metrics::Failure failure{.headline = first_line(text), .text = text};
    if (const auto* cause = report.cause()) {
        const auto add = [&](const char* name, const std::string& value) {
            if (!value.empty()) failure.info.push_back({name, value});
        };
        add("rank", std::to_string(cause->rank));
        if (cause->info.role != "trainer")
            add("role", fmt::format("{} {}", cause->info.role, cause->info.number));
        add("node", cause->info.host);
        add("GPU", join(cause->info.gpus, ", "));
        add("why", how_it_ended(*cause));
        add("exception", cause->exception);
        add("error", cause->error_message());
        for (const auto& end : report.waited_for)
            add("waited for", fmt::format("rank {} on {}, log {}", end.rank, end.info.host, end.info.log));
        add("hint", join(report.hints, "; "));
        add("log", cause->info.log);
    }
    return failure;
}

std::string outcome_of(const FailureReport& report) {
    switch (report.outcome) {
        case FailureReport::Outcome::done:
            return "done";
        case FailureReport::Outcome::stopped:
            return "stopped";
        case FailureReport::Outcome::failed:
            break;
    }
    return "failed";
}

}  // namespace

std::vector<metrics::RankLocation> locations_of(const Plan& plan, const std::vector<RankInfo>& info) {
    std::vector<metrics::RankLocation> locations;
    for (const auto* rank : plan.ranks()) {
        const auto& known = info.at(static_cast<std::size_t>(rank->rank));
        locations.push_back({.rank = rank->rank,
                             .role = known.role,
                             .host = known.host,
                             .local_rank = known.local_rank,
                             .gpus = known.gpus,
                             .cpus = plan.nodes_place_themselves ? "" : rank->assignment.cpus.to_string(),
                             .log = known.log});
    }
    return locations;
}

void add_start(metrics::Run& run, int number, const JobState& job, const FailureReport& report, double now) {
    const auto ends = bad_ends(report);
    const auto since_began = [&](std::int64_t time_us) {
        return std::max(0.0, static_cast<double>(time_us) / 1e6 - run.began);
    };
    run.seconds = std::max(run.seconds, now - run.began);
    run.outcome = outcome_of(report);
    run.failure.reset();
    if (report.outcome == FailureReport::Outcome::failed) run.failure = failure_of(report);
    std::vector<metrics::RunEvent> events;
    for (int rank = 0; rank < job.size(); ++rank) {
        const auto& start = job.start_of(rank);
        const auto& end = job.end_of(rank);
        const auto bad = ends.find(rank);
        if (!start && bad == ends.end()) continue;
        metrics::RankSpan span{.rank = rank, .start = number, .state = "done", .text = "done"};
        span.end = end ? since_began(end->time_us) : run.seconds;
        span.begin = start ? std::min(since_began(start->time_us), span.end) : span.end;
        if (bad != ends.end()) {
            span.state = bad->second.state;
            span.text = bad->second.text;
        }
        if (start)
            for (auto& location : run.locations)
                if (location.rank == rank && !start->host.empty()) {
                    location.host = start->host;
                    if (location.cpus.empty()) location.cpus = start->cpus;
                }
        if (span.state == "failed" || span.state == "lost")
            events.push_back({span.end, fmt::format("rank {}: {}", rank, span.text), true});
        run.spans.push_back(std::move(span));
    }
    for (const auto& hang : report.ending.reported_hangs) {
        const auto reported_at = since_began(hang.time_us);
        events.push_back({reported_at, hang.text, true});
        if (hang.seconds) events.push_back({reported_at + *hang.seconds, "the job goes on", false});
    }
    run.gpus.clear();
    for (int rank = 0; rank < job.size(); ++rank)
        if (const auto gpus = metrics::gpus_of_text(rank, job.gpus_of(rank))) run.gpus.push_back(*gpus);
    const auto text = report_text(report);
    events.push_back({run.seconds,
                      report.outcome == FailureReport::Outcome::done
                          ? "the job is done"
                          : "the job has ended: " + first_line(text),
                      false});
    std::ranges::stable_sort(events, {}, &metrics::RunEvent::seconds);
    if (events.size() > max_events) events.erase(events.begin() + max_events - 1, events.end() - 1);
    run.events.insert(run.events.end(), events.begin(), events.end());
}

void add_measured(metrics::Run& run, metrics::Run measured) {
    const auto later = measured.began - run.began;
    for (auto& row : measured.rows) {
        row.seconds += later;
        run.rows.push_back(std::move(row));
    }
    for (auto& event : measured.events) {
        event.seconds += later;
        run.events.push_back(std::move(event));
    }
    std::ranges::stable_sort(run.events, {}, &metrics::RunEvent::seconds);
    run.times = std::move(measured.times);
    run.slow_epochs = std::move(measured.slow_epochs);
    if (run.gpus.empty()) run.gpus = std::move(measured.gpus);
    if (!measured.title.empty()) run.title = std::move(measured.title);
    for (auto& fact : measured.info)
        if (std::ranges::find(run.info, fact.name, &metrics::Fact::name) == run.info.end())
            run.info.push_back(std::move(fact));
}

bool RunPage::is_page(const std::string& file) {
    return file.ends_with(".html") || file.ends_with(".htm");
}

RunPage::RunPage(std::string file, mode_t mode, std::string title)
    : file_(std::move(file)), mode_(mode), run_{.title = std::move(title), .began = metrics::time_now()} {}

void RunPage::begin(std::vector<metrics::RankLocation> locations, std::vector<metrics::Fact> info,
                    std::string record) {
    ++starts_;
    run_.locations = std::move(locations);
    run_.info = std::move(info);
    run_.outcome = "running";
    run_.failure.reset();
    record_ = std::move(record);
    std::error_code ignored;
    std::filesystem::remove(record_, ignored);
    const auto seconds = metrics::time_now() - run_.began;
    run_.seconds = seconds;
    run_.events.push_back(
        {seconds,
         fmt::format("{} {}", starts_ == 1 ? "the job is started:" : "the job is started again:",
                     counted(run_.locations.size(), "rank")),
         false});
    write();
}

void RunPage::end(const JobState& job, const FailureReport& report) {
    add_start(run_, starts_, job, report, metrics::time_now());
    if (const auto text = read_file(record_))
        if (auto measured = metrics::parse_run(*text)) add_measured(run_, std::move(*measured));
    std::error_code ignored;
    std::filesystem::remove(record_, ignored);
    write();
}

void RunPage::write() {
    write_report_file(file_, metrics::page_html(run_), mode_);
}

}  // namespace dtrain::launch
