// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <span>

#include <fmt/format.h>

#include "base/text.hpp"
#include "launch/backend/registry.hpp"
#include "launch/outcome/report.hpp"

namespace dtrain::launch {
namespace {

using How = RankEnd::How;
using Ends = std::vector<const RankEnd*>;  // of a report, which may have 80,000

bool is_trainer(const RankEnd& end) {
    return end.info.role == "trainer";
}

std::string name_of(const RankEnd& end) {
    if (is_trainer(end)) return fmt::format("rank {}", end.rank);
    return fmt::format("{} {} (rank {})", end.info.role, end.info.number, end.rank);
}

/// The log file, and its node if that is another one.
std::string where(const RankEnd& end) {
    return end.info.is_local ? end.info.log : fmt::format("{} on {}", end.info.log, end.info.host);
}

std::string log_name(const RankEnd& end) {
    return std::filesystem::path(end.info.log).filename().string();
}

/// "ranks [0,2]"; "server [1], workers [0,3]" in parameter-server jobs.
std::string list_of(const Ends& ends) {
    std::vector<std::pair<std::string, std::vector<int>>> by_role;
    for (const auto* end : ends) {
        const auto noun = is_trainer(*end) ? "rank" : end->info.role;
        const auto known = std::find_if(by_role.begin(), by_role.end(),
                                        [&](const auto& group) { return group.first == noun; });
        auto& numbers =
            known == by_role.end() ? by_role.emplace_back(noun, std::vector<int>{}).second : known->second;
        numbers.push_back(end->info.number);
    }
    std::vector<std::string> groups;
    for (auto& [noun, numbers] : by_role) {
        std::sort(numbers.begin(), numbers.end());
        groups.push_back(fmt::format("{} [{}]", plural(numbers.size(), noun), fmt::join(numbers, ",")));
    }
    return join(groups, ", ");
}

template <class Condition>
Ends those(std::span<const RankEnd> ends, const Condition& condition) {
    Ends out;
    for (const auto& end : ends)
        if (condition(end)) out.push_back(&end);
    return out;
}

Ends those(const std::vector<RankEnd>& ends, How how) {
    return those(ends, [&](const RankEnd& end) { return end.how == how; });
}

std::string sentence(const RankEnd& end) {
    return fmt::format("{} on {}: {}", name_of(end), end.info.host, how_it_ended(end));
}

/// "local rank 1, GPU 4, pid 4711, 2.5 s after its start".
std::string info_of(const RankEnd& end) {
    std::vector<std::string> info{fmt::format("local rank {}", end.info.local_rank)};
    if (!end.info.gpus.empty())
        info.push_back(fmt::format("{} {}", plural(end.info.gpus.size(), "GPU"), join(end.info.gpus, ",")));
    if (end.pid != 0) info.push_back(fmt::format("pid {}", end.pid));
    if (end.seconds) info.push_back(fmt::format("{:.1f} s after its start", *end.seconds));
    return join(info, ", ");
}

std::string why_lost(const FailureReport& report) {
    if (!report.ending.lost_because.empty()) return report.ending.lost_because;
    return fmt::format("it is down, its {} was killed, or the network to it is cut",
                       backend_named(report.ending.engine).node_daemon());
}

std::string block_of_vanished(const FailureReport& report) {
    const auto vanished = those(report.failed, How::vanished);
    if (!report.not_started.empty())
        return fmt::format("nothing was started: {}; {} ended with {}\n", report.not_started,
                           report.ending.engine, report.ending.engine_status.to_string());
    auto text = report.lost_node.empty()
                    ? fmt::format(
                          "{} ended without a word: dtrain-worker was killed, its node was lost, or it "
                          "could not start; {} ended with {}\n",
                          list_of(vanished), report.ending.engine, report.ending.engine_status.to_string())
                    : fmt::format("node {} was lost with {}: {}; {} ended with {}\n", report.lost_node,
                                  list_of(vanished), why_lost(report), report.ending.engine,
                                  report.ending.engine_status.to_string());
    for (std::size_t i = 0; i < std::min(vanished.size(), described_ranks); ++i)
        text += fmt::format("  {} on {}: {}\n", name_of(*vanished[i]), vanished[i]->info.host,
                            vanished[i]->pid != 0 ? info_of(*vanished[i])
                                                  : info_of(*vanished[i]) + ", no program of it was seen");
    return text;
}

/// Why it ended, if that has room on the first line of the report; else "".
std::string reason_for_headline(const FailureReport& report) {
    constexpr std::size_t max_size = 300;
    const auto& cause = *report.cause();
    const auto reason = cause.exception.empty() ? cause.error_message() : cause.exception;
    const bool fits = reason.size() <= max_size;
    const bool is_of_end = cause.how == How::exited || cause.how == How::stopped_by_us;
    return is_of_end && report.waited_for.empty() && fits ? reason : "";
}

/// With the reason, if there is one; if the cause waited for other ranks, the sentence names those.
std::string sentence_of_cause(const FailureReport& report, const std::string& reason) {
    auto text = sentence(*report.cause());
    if (!reason.empty()) return text + ": " + reason;
    if (report.waited_for.empty()) return text;
    const auto& first = report.waited_for.front();
    text += fmt::format(", as it waited in vain for {} on {}", name_of(first), first.info.host);
    if (const auto others = report.waited_for.size() - 1; others > 0)
        text += fmt::format(" and {} more", others);
    return text;
}

std::string waited_for_line(const RankEnd& end) {
    return fmt::format("  it waited for {} on {}: {}, log: {}\n", name_of(end), end.info.host, info_of(end),
                       where(end));
}

std::string block_of_cause(const FailureReport& report) {
    const auto& cause = *report.cause();
    const auto why = reason_for_headline(report);
    auto text = cause.how == How::vanished ? block_of_vanished(report)
                                           : sentence_of_cause(report, why) + "\n  " + info_of(cause) + "\n";
    for (const auto& [name, reason] :
         {std::pair("exception", cause.exception), std::pair("error", cause.error_message())})
        if (!reason.empty() && reason != why) text += fmt::format("  {}: {}\n", name, reason);
    for (std::size_t i = 0; i < std::min(report.waited_for.size(), described_ranks); ++i)
        text += waited_for_line(report.waited_for[i]);
    for (const auto& hint : report.hints) text += fmt::format("  hint: {}\n", hint);
    // mpirun only guesses; its text is omitted if the launcher knows the reason.
    if (cause.how == How::vanished && report.ending.lost_because.empty()) text += report.ending.engine_text;
    if (report.not_started.empty()) text += fmt::format("  log: {}\n", where(cause));
    if (!report.last_lines.empty())
        text += fmt::format("---- last lines of {} ----\n{}----\n", log_name(cause), report.last_lines);
    return text;
}

/// The rank's error, unless it is the cause's again; "": none.
std::string new_error(const RankEnd& end, const FailureReport& report) {
    const auto known = report.cause() == nullptr ? nullptr : report.cause()->error;
    if (!known || !end.error) return end.error_message();
    const auto& own = *end.error;
    const bool same_operation = own.operation && known->operation &&
                                own.operation->name == known->operation->name &&
                                own.operation->number == known->operation->number;
    return same_operation || own.message == known->message ? "" : end.error_message();
}

/// One line for each of the first ranks, up to `described_ranks`.
template <class Line>
std::string described(const FailureReport& report, const Ends& ends, const Line& line) {
    std::string text;
    for (const auto* end : std::span(ends).first(std::min(ends.size(), described_ranks))) {
        text += line(*end);
        if (!end->exception.empty()) text += "; exception: " + end->exception;
        if (const auto error = new_error(*end, report); !error.empty())
            text += fmt::format("; error: {}; log: {}", error, where(*end));
        text += "\n";
    }
    if (ends.size() > described_ranks) text += fmt::format("and {} more\n", ends.size() - described_ranks);
    return text;
}

std::string how_it_failed(EndedBy by) {
    switch (by) {
        case EndedBy::sigterm:
            return "ended by SIGTERM, as its log says: ";
        case EndedBy::lost_connection:
            return "ended by Open MPI, which lost its connection to another rank: ";
        case EndedBy::killed_rank:
        case EndedBy::itself:
            break;
    }
    return "failed too: ";
}

std::string others_that_failed(const FailureReport& report) {
    const auto others = those(std::span(report.failed).subspan(1), [&](const RankEnd& end) {
        return end.how != How::vanished || report.cause()->how != How::vanished;
    });
    return described(report, others, [](const RankEnd& end) {
        if (end.followed) return "ended with it: " + sentence(end);
        return how_it_failed(end.ended_by) + sentence(end);
    });
}

std::string rest_of_the_job(const FailureReport& report) {
    std::string text;
    const auto by_us = those(report.stopped, How::stopped_by_us);
    const auto by_others = those(report.stopped, How::stopped_by_others);
    if (!by_us.empty())
        text += fmt::format("then stopped by {}: {}\n", report.ending.launcher, list_of(by_us));
    const auto has_new_error = [&](const RankEnd* end) { return !new_error(*end, report).empty(); };
    auto notable = by_us;
    std::erase_if(notable,
                  [&](const RankEnd* end) { return !end->exited_while_stopped() && !has_new_error(end); });
    std::ranges::stable_partition(notable, has_new_error);
    text += described(report, notable, [](const RankEnd& end) {
        return fmt::format("  of them {} on {} ended with {}", name_of(end), end.info.host,
                           end.status.to_string());
    });
    if (!by_others.empty())
        text += fmt::format("then stopped with the job by others: {}\n", list_of(by_others));
    if (!report.silent.empty())
        text += fmt::format("never told how they ended: {}\n",
                            list_of(those(report.silent, [](const RankEnd&) { return true; })));
    if (report.ending.restarts > 0)
        text += fmt::format("the job had been started again {} {} before\n", report.ending.restarts,
                            report.ending.restarts == 1 ? "time" : "times");
    return text;
}

/// Paddle's ABORT line, once for each kind of process that failed, the cause first.
std::string abort_lines(const FailureReport& report) {
    std::string text;
    if (report.ending.launcher != Ending().launcher) return text;
    for (const auto& role : report.roles) {
        std::vector<int> numbers;
        for (const auto& end : report.failed)
            if (end.info.role == role.name && !end.followed) numbers.push_back(end.info.number);
        if (numbers.empty()) continue;
        const bool has_cause = report.cause()->info.role == role.name && !report.cause()->followed;
        std::sort(numbers.begin() + (has_cause ? 1 : 0), numbers.end());
        text += fmt::format(
            "ABORT!!! Out of all {} {}s, the {} process with rank=[{}] was aborted. Please check its log.\n",
            role.size, role.name, role.name, fmt::join(numbers, ","));
    }
    return text;
}

std::string how_it_was_stopped(const RankEnd& rank) {
    if (!rank.detail.empty()) return "stopped";  // its end was not seen
    if (rank.exited_while_stopped())
        return fmt::format("ended with {} when stopped by SIGTERM", rank.status.to_string());
    return rank.status.signal == SIGKILL ? "stopped by SIGKILL, as SIGTERM was not enough,"
                                         : "stopped by SIGTERM";
}

std::string headline(const FailureReport& report) {
    int size = 0;
    for (const auto& role : report.roles) size += role.size;
    if (report.ending.asked_to_stop_by != 0)
        return fmt::format(
            "stopped by {}; the programs of all {} ranks {}\n", signal_name(report.ending.asked_to_stop_by),
            size, report.ending.killed_at_once ? "were killed at once after a second signal" : "have ended");
    if (!report.cancelled.empty()) return report.cancelled + "\n";
    if (report.failed.empty())
        return fmt::format("dtrain-launch stopped the job{}{}\n{}{}",
                           report.ending.stop_reason.empty() ? "" : ": ", report.ending.stop_reason,
                           fmt::join(report.ending.stop_details, "\n"),
                           report.ending.stop_details.empty() ? "" : "\n");
    return "";
}

}  // namespace

std::string how_it_ended(const RankEnd& end) {
    switch (end.how) {
        case How::exited:
            return "the program ended with " + end.status.to_string();
        case How::issue:
            return end.detail;
        case How::vanished:
            return "ended without a word";
        case How::stopped_by_us:
            return fmt::format(
                "the program {} ({})",
                end.reported ? "was ending with its error when dtrain-launch stopped it" : "was stopped",
                end.status.to_string());
        case How::stopped_by_others:
            return fmt::format("the program was stopped ({}), and not by dtrain-launch",
                               end.status.to_string());
    }
    return "";
}

std::string report_text(const FailureReport& report) {
    if (report.outcome == FailureReport::Outcome::done) return "";
    auto text = headline(report);
    if (report.cause() == nullptr)
        return report.outcome == FailureReport::Outcome::stopped ? text : text + rest_of_the_job(report);
    return text + block_of_cause(report) + others_that_failed(report) + rest_of_the_job(report) +
           abort_lines(report);
}

std::optional<std::string> final_lines(const FailureReport& report, const RankEnd& rank) {
    const auto* cause = report.cause();
    const auto see_cause = [&] {
        const bool same_host = cause->info.host == rank.info.host;
        return fmt::format("{} failed on {}; see {}{}", name_of(*cause), cause->info.host,
                           same_host ? cause->info.log : log_name(*cause), same_host ? "" : " there");
    };
    if (rank.followed)
        return fmt::format("dtrain: ended with {} because {}", rank.status.to_string(), see_cause());
    if (rank.how != How::stopped_by_us || rank.reported) return std::nullopt;
    const auto stopped = how_it_was_stopped(rank);
    if (cause == nullptr || !report.stopped_after_failure) {
        if (report.ending.asked_to_stop_by != 0)
            return fmt::format("dtrain: {} because dtrain-launch got {}", stopped,
                               signal_name(report.ending.asked_to_stop_by));
        if (report.outcome == FailureReport::Outcome::done)
            return fmt::format("dtrain: {} because the others are done", stopped);
        if (report.ending.stop_reason.empty()) return std::nullopt;
        return fmt::format("dtrain: {}: {}", stopped, report.ending.stop_reason);
    }
    return fmt::format("dtrain: {} after {}", stopped, see_cause());
}

}  // namespace dtrain::launch
