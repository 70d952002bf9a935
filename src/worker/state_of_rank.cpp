// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/state_of_rank.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/process_tree.hpp"
#include "base/text.hpp"
#include "trace/read_operation_log.hpp"
#include "worker/held_process.hpp"

namespace dtrain::worker {
namespace {

#if defined(__x86_64__)
// read, write, pread64, pwrite64, readv, writev, fsync, fdatasync, ftruncate, getdents64
constexpr std::array system_calls_of_files{0, 1, 17, 18, 19, 20, 74, 75, 77, 217};
#else
// The table that new architectures share: the same calls.
constexpr std::array system_calls_of_files{63, 64, 67, 68, 65, 66, 82, 83, 46, 61};
#endif

/// The file that a thread's system call is about; "" if that is not known.
std::string file_in_use(pid_t pid) {
    // "0 0x3 0x7f... ...": number and arguments
    const auto words = split(read_file(fmt::format("/proc/{}/syscall", pid)).value_or(""), ' ');
    if (words.size() < 2 || !words[1].starts_with("0x")) return {};
    const auto number = parse_int(words[0]);
    const auto descriptor = parse_int(std::string_view(words[1]).substr(2), 16);
    if (!number || !descriptor ||
        std::ranges::find(system_calls_of_files, *number) == system_calls_of_files.end())
        return {};
    std::error_code error;
    return std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", pid, *descriptor), error).string();
}

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
    return state;
}

}  // namespace dtrain::worker
