// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/state_of_rank.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/process_tree.hpp"
#include "trace/read_operation_log.hpp"
#include "worker/held_process.hpp"

namespace dtrain::worker {
namespace {

trace::Activity activity_of(char state, std::optional<cluster::Inactivity> inactivity) {
    if (state == 'T') return trace::Activity::is_stopped;
    if (!inactivity) return state == 'R' ? trace::Activity::computes : trace::Activity::sleeps;
    return *inactivity == cluster::Inactivity::sleeps ? trace::Activity::sleeps : trace::Activity::computes;
}

}  // namespace

trace::RankState state_of_rank(const ProgramOfRank& program, std::optional<cluster::Inactivity> inactivity) {
    const auto pid = most_informative_first(program.guard, program.program).front();
    const auto stat = stat_of(pid);
    trace::RankState state{
        .rank = program.rank,
        .host = program.host,
        .pid = pid,
        .activity = stat ? activity_of(stat->state, inactivity) : trace::Activity::unknown};
    if (const auto thread = thread_in_kernel(pid); thread != 0) {
        state.activity = trace::Activity::is_in_kernel;
        state.file = file_in_use(thread);
    }
    if (program.operations.empty()) return state;
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    for (auto& process : trace::read_operation_logs(program.operations, now)) {
        std::ranges::move(process.groups, std::back_inserter(state.groups));
        std::ranges::move(process.operations, std::back_inserter(state.operations));
    }
    return state;
}

trace::RankState with_calls(trace::RankState state, StackSummary where) {
    state.stack = std::move(where.calls);
    if (where.is_stopped) state.activity = trace::Activity::is_stopped;
    state.held_by = std::move(where.held_by);
    std::ranges::move(where.groups, std::back_inserter(state.groups));
    std::ranges::move(where.operations, std::back_inserter(state.operations));
    state.nccl = std::move(where.nccl);
    return state;
}

}  // namespace dtrain::worker
