// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/held_process.hpp"

#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "base/cgroup.hpp"
#include "base/files.hpp"
#include "base/process_tree.hpp"
#include "base/text.hpp"

namespace dtrain::worker {
namespace {

namespace fs = std::filesystem;

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

std::string what_holds(pid_t pid) {
    const auto membership = read_file(fmt::format("/proc/{}/cgroup", pid)).value_or("");
    if (const auto group = frozen_cgroup("/sys/fs/cgroup", membership))
        return "frozen with its control group " + *group;
    if (!stays_in('t', pid)) return "";
    const auto status = read_file(fmt::format("/proc/{}/status", pid)).value_or("");
    const auto tracer = field_of(status, "TracerPid:");
    return fmt::format("held by a debugger ({}, pid {})",
                       trimmed(read_file(fmt::format("/proc/{}/comm", tracer)).value_or("")), tracer);
}

pid_t thread_in_kernel(pid_t pid) {
    if (stays_in('D', pid)) return pid;
    std::error_code error;
    for (const auto& thread : fs::directory_iterator(fmt::format("/proc/{}/task", pid), error))
        if (const auto id = parse_int<pid_t>(thread.path().filename().string()); id && stays_in('D', *id))
            return *id;
    return 0;
}

}  // namespace dtrain::worker
