// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/report.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain::launch {
namespace {

using cluster::Event;

std::string rank_list(const std::vector<int>& ranks) {
    return fmt::format("[{}]", fmt::join(ranks, ","));
}

std::string plural(std::size_t count, const std::string& noun) {
    return count == 1 ? noun : noun + "s";
}

int status_of(const Event& event) {
    return ExitStatus{.code = event.code, .signal = event.signal}.shell_status();
}

std::string cause(const JobState& job, const Event& event) {
    auto text = cluster::to_sentence(event);
    if (event.kind == Event::Kind::stopped) text += ", and not by dtrain-launch";
    if (const auto& start = job.start_of(event.rank)) {
        const double seconds = static_cast<double>(event.time_us - start->time_us) / 1e6;
        text += fmt::format(" (pid {}, {:.1f} s after its start)", start->pid, seconds);
    }
    return text;
}

/// A worker that was killed says nothing; mpirun then stops the others, who do say that they were stopped.
bool vanished(const JobState& job, const Ending& ending) {
    if (ending.asked_to_stop_by != 0 || job.silent().empty()) return false;
    const auto failures = job.failures();
    return failures.empty() || failures.front().kind == Event::Kind::stopped;
}

std::string vanished_cause(const std::vector<int>& ranks, const Ending& ending) {
    auto text = fmt::format(
        "{} {} ended without a word: dtrain-worker was killed or could not start; mpirun ended with {}\n",
        plural(ranks.size(), "rank"), rank_list(ranks), ending.mpirun.to_string());
    return ending.mpirun_text.empty() ? text : text + ending.mpirun_text;
}

}  // namespace

std::optional<int> rank_named_by_mpirun(const std::string& mpirun_text) {
    constexpr std::string_view marker = "process rank ";
    const auto at = mpirun_text.find(marker);
    if (at == std::string::npos) return std::nullopt;
    const auto begin = at + marker.size();
    return parse_int(mpirun_text.substr(begin, mpirun_text.find(' ', begin) - begin));
}

std::optional<int> culprit(const JobState& job, const Ending& ending) {
    const auto failures = job.failures();
    if (vanished(job, ending)) {
        const auto silent = job.silent();
        const auto named = rank_named_by_mpirun(ending.mpirun_text);
        const bool usable = named && std::find(silent.begin(), silent.end(), *named) != silent.end();
        return usable ? *named : silent.front();
    }
    if (!failures.empty()) return failures.front().rank;
    return std::nullopt;
}

Verdict judge(const JobState& job, const Ending& ending) {
    if (ending.asked_to_stop_by != 0)
        return {.status = 128 + ending.asked_to_stop_by,
                .text = fmt::format("stopped by {}; the programs of all {} ranks have ended\n",
                                    signal_name(ending.asked_to_stop_by), job.size())};
    if (job.all_done()) return {};

    Verdict verdict;
    const auto first = culprit(job, ending).value_or(0);
    std::vector<int> failed;
    if (vanished(job, ending)) {
        const auto named = rank_named_by_mpirun(ending.mpirun_text);
        failed = named == first ? std::vector<int>{first} : job.silent();
        verdict.status = ending.mpirun.shell_status();
        verdict.text = vanished_cause(failed, ending);
    } else {
        const auto failures = job.failures();
        for (const auto& failure : failures) failed.push_back(failure.rank);
        verdict.status = status_of(failures.front());
        verdict.text = cause(job, failures.front()) + "\n";
    }
    if (verdict.status == 0) verdict.status = 1;
    verdict.text += fmt::format("log: {}/workerlog.{}\n", ending.log_dir, first);
    if (!ending.log_tail.empty())
        verdict.text += fmt::format("---- last lines of workerlog.{} ----\n{}----\n", first, ending.log_tail);
    if (const auto stopped = job.stopped(); !stopped.empty())
        verdict.text += fmt::format("then stopped by dtrain-launch: {} {}\n", plural(stopped.size(), "rank"),
                                    rank_list(stopped));
    verdict.text += fmt::format(
        "ABORT!!! Out of all {} trainers, the trainer process with rank={} was aborted. Please check its "
        "log.\n",
        job.size(), rank_list(failed));
    return verdict;
}

std::string last_lines(const std::string& log, std::size_t lines) {
    const std::string body(trimmed(log));
    std::size_t begin = body.size();
    for (std::size_t found = 0; begin != 0 && found < lines; ++found) {
        begin = body.rfind('\n', begin - 1);
        if (begin == std::string::npos) begin = 0;
    }
    if (body.empty() || lines == 0) return "";
    return body.substr(begin == 0 ? 0 : begin + 1) + "\n";
}

}  // namespace dtrain::launch
