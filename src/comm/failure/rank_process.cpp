// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/rank_process.hpp"

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/process_handle.hpp"
#include "base/process_tree.hpp"

namespace dtrain::comm {
namespace {

std::uint64_t own_pid_namespace() {
    struct stat info {};
    return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

/// A process whose first thread has ended looks like a zombie while others go on.
bool has_running_threads(pid_t pid) {
    const auto process = process_handle(pid);
    if (!process.valid()) return false;
    pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
    return ::poll(&ended, 1, 0) == 0;
}

}  // namespace

RankProcess own_rank_process() {
    const auto stat = stat_of(::getpid());
    return {.pid = ::getpid(),
            .start_time = stat ? stat->start_time : 0,
            .pid_namespace = stat ? own_pid_namespace() : 0};
}

bool has_ended(const RankProcess& process) {
    if (process.pid_namespace == 0 || process.pid_namespace != own_pid_namespace()) return false;
    const auto stat = stat_of(process.pid);
    if (!stat) return ::kill(process.pid, 0) != 0 && errno == ESRCH;  // /proc may have been unreadable
    if (stat->start_time != process.start_time) return true;
    return stat->ended && !has_running_threads(process.pid);
}

std::string ended_text(const RankProcess& process) {
    return fmt::format("its process, {}, has ended", process.pid);
}

}  // namespace dtrain::comm
