// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <csignal>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "launch/jobs/control_client.hpp"
#include "launch/jobs/job_commands.hpp"
#include "launch/jobs/stack_answers.hpp"
#include "trace/hang_diagnosis.hpp"

namespace dtrain::launch {
namespace {

constexpr std::chrono::seconds usual_wait{1};  // ranks that train wait for each other all the time

/// Whether every wait that is recorded has just begun.
bool goes_on(const std::vector<trace::RankState>& states) {
    bool any_recorded = false;
    for (const auto& state : states) {
        any_recorded = any_recorded || !state.groups.empty();
        for (const auto& operation : state.operations)
            if (operation.waited && *operation.waited >= usual_wait) return false;
    }
    return any_recorded;
}

}  // namespace

int explain_job(const JobRecord& record) {
    ::signal(SIGPIPE, SIG_IGN);
    const auto view = ask_for_view(record, "status");
    if (!view) throw Error(fmt::format("the launcher of {} does not answer", record.job));
    if (const auto unstarted = unstarted_ranks(*view)) {
        write_all(STDOUT_FILENO, *unstarted + "\n");
        return 0;
    }
    const auto answers = ask_for_stacks(record, *view);
    const auto states = states_of(*view, answers);
    if (goes_on(states)) {
        write_all(STDOUT_FILENO, "the job goes on: no rank has waited for a second in its operation\n");
    } else {
        const auto found = trace::diagnose_hang(states);
        write_all(STDOUT_FILENO, found.culprit + "\n");
        for (const auto& line : found.waiting) write_all(STDOUT_FILENO, line + "\n");
    }
    return report_silent_ranks(*view, answers, cluster::RankList::all()) ? 1 : 0;
}

}  // namespace dtrain::launch
