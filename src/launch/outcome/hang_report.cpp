// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/outcome/hang_report.hpp"

#include <algorithm>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/text.hpp"
#include "trace/rank_ranges.hpp"

namespace dtrain::launch {
namespace {

using cluster::Event;

struct RanksAt {
    std::string where;
    std::vector<int> ranks;
    std::int64_t since_us = 0;  ///< of the rank that became idle first
};

std::int64_t since_us(const Event& event) {
    return event.time_us - 1000 * event.idle_ms;
}

std::vector<RanksAt> by_location(std::vector<Event> hung) {
    std::stable_sort(hung.begin(), hung.end(),
                     [](const Event& a, const Event& b) { return since_us(a) < since_us(b); });
    std::vector<RanksAt> groups;
    for (const auto& event : hung) {
        auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const RanksAt& known) { return known.where == event.text; });
        if (group == groups.end())
            group = groups.insert(group, {.where = event.text, .since_us = since_us(event)});
        group->ranks.push_back(event.rank);
    }
    for (auto& group : groups) std::sort(group.ranks.begin(), group.ranks.end());
    return groups;
}

std::string clock_time(std::int64_t time_us) {
    return fmt::format("{:%H:%M:%S}", fmt::localtime(static_cast<std::time_t>(time_us / 1'000'000)));
}

std::string what_is_known(const std::vector<Event>& hung, const trace::HangDiagnosis& diagnosis) {
    return diagnosis.cause == trace::HangDiagnosis::Cause::unknown ? hang_sign(hung) : diagnosis.line();
}

}  // namespace

trace::HangDiagnosis diagnose(const JobState& job, const std::vector<Event>& hung,
                              const std::vector<std::string>& hosts) {
    std::vector<trace::RankState> states;
    for (int rank = 0; rank < job.size(); ++rank) {
        auto state = trace::parse_rank_state(job.state_of(rank)).value_or(trace::RankState());
        state.rank = rank;
        state.host = job.start_of(rank) ? job.start_of(rank)->host : hosts.at(static_cast<std::size_t>(rank));
        const bool had_ended = std::ranges::find(hung, rank, &Event::rank) == hung.end();
        if (had_ended)
            state.activity =
                job.has_begun(rank) ? trace::Activity::has_ended : trace::Activity::has_not_started;
        states.push_back(std::move(state));
    }
    return trace::diagnose_hang(states);
}

std::string hang_reason(const std::vector<Event>& hung, const trace::HangDiagnosis& diagnosis) {
    return "it hung: " + what_is_known(hung, diagnosis);
}

std::string hang_warning(const std::vector<Event>& hung, const trace::HangDiagnosis& diagnosis) {
    return "the job hangs: " + what_is_known(hung, diagnosis);
}

std::string unstarted_warning(const trace::HangDiagnosis& diagnosis, const JobState& job,
                              std::chrono::milliseconds waited, const std::string& backend,
                              const std::string& said) {
    constexpr std::size_t max_quoted = 200;
    const auto text = trimmed(said);
    const auto last_line = text.substr(text.rfind('\n') + 1);
    return fmt::format(
        "{}, {:.0f} s after {}: {}; the job waits", diagnosis.culprit,
        std::chrono::duration<double>(waited).count(),
        job.begun() == 0 ? fmt::format("{} was called", backend) : std::string("the last one that has"),
        last_line.empty() ? fmt::format("{} node may be down, or wait for a file system",
                                        diagnosis.culprits.size() == 1 ? "its" : "their")
                          : fmt::format("{} says \"{}\"", backend, one_line(last_line, max_quoted)));
}

std::string slow_stop_warning(const std::vector<Event>& hung, const trace::HangDiagnosis& diagnosis,
                              const std::vector<int>& left) {
    constexpr std::size_t shortest_run = 3;
    return fmt::format("{}; the job is being stopped, and {} {} not ended yet", hang_warning(hung, diagnosis),
                       left.size() == 1 ? fmt::format("rank {}", left.front())
                                        : fmt::format("ranks [{}]", trace::rank_ranges(left, shortest_run)),
                       left.size() == 1 ? "has" : "have");
}

std::string hang_sign(const std::vector<Event>& hung) {
    const auto shortest = std::min_element(
        hung.begin(), hung.end(), [](const Event& a, const Event& b) { return a.idle_ms < b.idle_ms; });
    const bool all_sleep = std::ranges::all_of(
        hung, [](const Event& event) { return event.code == static_cast<int>(cluster::Inactivity::sleeps); });
    return fmt::format("no rank that was left printed anything or {} for {:.1f} s",
                       all_sleep ? "used the processor" : "ended an operation",
                       static_cast<double>(shortest->idle_ms) / 1000);
}

std::vector<std::string> hang_locations(const std::vector<Event>& hung,
                                        const std::function<std::string(int)>& stacks_of) {
    std::vector<std::string> lines;
    for (const auto& group : by_location(hung)) {
        const bool one = group.ranks.size() == 1;
        lines.push_back(fmt::format("{} [{}]: since {} in {}; stacks: {}{}", one ? "rank" : "ranks",
                                    fmt::join(group.ranks, ","), clock_time(group.since_us),
                                    group.where.empty() ? "an unknown place" : group.where,
                                    stacks_of(group.ranks.front()), one ? "" : " and so on"));
    }
    return lines;
}

std::optional<std::string> done_before(const std::vector<Event>& done) {
    if (done.empty()) return std::nullopt;
    std::vector<int> ranks;
    std::int64_t last_us = 0;
    for (const auto& event : done) {
        ranks.push_back(event.rank);
        last_us = std::max(last_us, event.time_us);
    }
    std::sort(ranks.begin(), ranks.end());
    return fmt::format("{} [{}]: ended with exit code 0 before, {}at {}", plural(ranks.size(), "rank"),
                       fmt::join(ranks, ","), ranks.size() == 1 ? "" : "the last one ", clock_time(last_us));
}

}  // namespace dtrain::launch
