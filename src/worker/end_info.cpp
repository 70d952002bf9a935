// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/end_info.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <iterator>
#include <span>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain::worker {
namespace {

constexpr std::size_t probe_bytes = 64 * 1024;

}  // namespace

std::optional<SharedMemory> shared_memory() {
    struct statvfs info {};
    if (::statvfs("/dev/shm", &info) != 0) return std::nullopt;
    const auto block = static_cast<std::int64_t>(info.f_frsize);
    return SharedMemory{.bytes = static_cast<std::int64_t>(info.f_blocks) * block,
                        .free_bytes = static_cast<std::int64_t>(info.f_bavail) * block};
}

std::optional<std::string> disk_full_message(const std::filesystem::path& log) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(log, none))) return std::nullopt;
    const auto probe = temporary_name(log);
    const FileDescriptor file(
        ::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    const bool has_room =
        file.valid() && write_all(file.get(), std::string(probe_bytes, ' ')) && ::fsync(file.get()) == 0;
    const int error = errno;
    if (file.valid()) ::unlink(probe.c_str());
    if (has_room || (error != ENOSPC && error != EDQUOT)) return std::nullopt;
    return fmt::format("there is no room for its log {} ({}): its output is lost, and writing it fails",
                       log.string(), std::generic_category().message(error));
}

std::vector<std::string> xid_info(const std::vector<topology::Xid>& xids) {
    constexpr std::size_t max = 3;
    std::vector<std::string> info;
    for (const auto& xid : std::span(xids).first(std::min(xids.size(), max)))
        info.push_back("the kernel logged " + topology::to_sentence(xid));
    return info;
}

std::vector<std::string> new_xid_info(std::vector<topology::Xid>& known,
                                      const std::vector<topology::Xid>& come) {
    const auto before = static_cast<std::ptrdiff_t>(xid_info(known).size());
    known.insert(known.end(), come.begin(), come.end());
    auto info = xid_info(known);
    info.erase(info.begin(), info.begin() + before);
    return info;
}

std::string end_diagnosis(const ExitStatus& ended, const std::optional<OomKills>& kills,
                          const std::vector<topology::Xid>& xids,
                          const std::optional<SharedMemory>& shared_memory,
                          const std::optional<std::string>& too_many_processes,
                          const std::optional<std::string>& no_room_for_log,
                          const std::optional<std::string>& unreadable_error) {
    // A shell reports the signal that ended its command as an exit status.
    const auto ended_by = [&](int signal) { return ended.shell_status() == 128 + signal; };
    std::vector<std::string> info;
    const bool of_other_jobs = kills && kills->outside && !ended_by(SIGKILL);
    if (kills && kills->count > 0 && !of_other_jobs)
        info.push_back(kills->to_sentence());
    else if (kills && ended_by(SIGKILL))
        info.emplace_back("the kernel's OOM killer did not do it, by its counters");
    std::ranges::move(xid_info(xids), std::back_inserter(info));
    if (shared_memory && ended_by(SIGBUS))
        info.push_back(fmt::format("/dev/shm holds {}, {} of it free after the end",
                                   bytes_text(shared_memory->bytes), bytes_text(shared_memory->free_bytes)));
    if (too_many_processes) info.push_back(*too_many_processes);
    if (no_room_for_log) info.push_back(*no_room_for_log);
    if (unreadable_error) info.push_back(*unreadable_error);
    return join(info, "; ");
}

}  // namespace dtrain::worker
