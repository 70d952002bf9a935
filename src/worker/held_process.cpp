// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/held_process.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "base/cgroup.hpp"
#include "base/files.hpp"
#include "base/process_tree.hpp"
#include "base/small_file.hpp"
#include "base/text.hpp"

namespace dtrain::worker {
namespace {

#if defined(__x86_64__)
// read, write, pread64, pwrite64, readv, writev, fsync, fdatasync, ftruncate, getdents64
constexpr std::array system_calls_of_files{0, 1, 17, 18, 19, 20, 74, 75, 77, 217};
#else
// The table that new architectures share: the same calls.
constexpr std::array system_calls_of_files{63, 64, 67, 68, 65, 66, 82, 83, 46, 61};
#endif

/// Not just for a moment.
bool stays_in(char state, pid_t thread) {
    constexpr int samples = 5;
    constexpr std::chrono::milliseconds between{20};
    for (int sample = 0; sample < samples; ++sample) {
        if (sample > 0) std::this_thread::sleep_for(between);
        if (!is_in_state(thread, state)) return false;
    }
    return true;
}

}  // namespace

std::string process_name(pid_t pid) {
    return trimmed_content(fmt::format("/proc/{}/comm", pid));
}

pid_t tracer_of(pid_t pid) {
    const auto status = read_file(fmt::format("/proc/{}/status", pid)).value_or("");
    return parse_int<pid_t>(field_of(status, "TracerPid:")).value_or(0);
}

std::string what_holds(pid_t pid) {
    const auto membership = read_file(fmt::format("/proc/{}/cgroup", pid)).value_or("");
    if (const auto group = frozen_cgroup("/sys/fs/cgroup", membership))
        return "frozen with its control group " + *group;
    if (!stays_in('t', pid)) return "";
    const auto tracer = tracer_of(pid);
    return fmt::format("held by a debugger ({}, pid {})", process_name(tracer), tracer);
}

bool cannot_answer(pid_t pid) {
    return is_in_state(pid, 'T') || !what_holds(pid).empty();
}

pid_t thread_in_kernel(pid_t pid) {
    if (stays_in('D', pid)) return pid;
    for (const auto thread : threads_of(pid))
        if (stays_in('D', thread)) return thread;
    return 0;
}

std::string file_in_use(pid_t thread) {
    // "0 0x3 0x7f... ...": number and arguments
    const auto words = split(read_file(fmt::format("/proc/{}/syscall", thread)).value_or(""), ' ');
    if (words.size() < 2 || !words[1].starts_with("0x")) return {};
    const auto number = parse_int(words[0]);
    const auto descriptor = parse_int(std::string_view(words[1]).substr(2), 16);
    if (!number || !descriptor ||
        std::ranges::find(system_calls_of_files, *number) == system_calls_of_files.end())
        return {};
    std::error_code error;
    return std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", thread, *descriptor), error).string();
}

std::string why_no_signal_ends(pid_t pid) {
    // What is frozen waits for the system, too.
    if (const auto holds = what_holds(pid); !holds.empty()) return "it is " + holds;
    const auto thread = thread_in_kernel(pid);
    if (thread == 0) return {};
    const auto file = file_in_use(thread);
    return "it waits for the system" + (file.empty() ? "" : ", for " + file);
}

}  // namespace dtrain::worker
