// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/oom_watch.hpp"
#include "base/subprocess.hpp"
#include "topology/xid.hpp"

namespace dtrain::worker {

struct SharedMemory {
    std::int64_t bytes = 0;
    std::int64_t free_bytes = 0;
};

/// The size of /dev/shm on this machine, if it exists.
std::optional<SharedMemory> shared_memory();

/// A message if the disk of this log is full, else nothing. Tests it by writing a file beside the log.
std::optional<std::string> disk_full_message(const std::filesystem::path& log);

/// "the kernel logged Xid 79 of GPU ..." for each of the first few errors; one error often causes others.
/// Pure.
std::vector<std::string> xid_info(const std::vector<topology::Xid>& xids);

/// Adds the new errors to the known ones. @return the lines that xid_info() gains by them
std::vector<std::string> new_xid_info(std::vector<topology::Xid>& known,
                                      const std::vector<topology::Xid>& come);

/// What only the program's own machine knows about its end: whether the OOM killer ended it, which GPU errors
/// the kernel logged, whether a process limit was reached, whether shared memory or the log's disk is full,
/// and why its error file is of no use.
/// "" if none of these applies. Pure.
/// @param kills by the OOM killer while the program ran; nothing: unknown
/// @param xids while the program ran
/// @param too_many_processes from PidsWatch
/// @param no_room_for_log from disk_full_message()
/// @param unreadable_error why the program's own error cannot be read
std::string end_diagnosis(const ExitStatus& ended, const std::optional<OomKills>& kills,
                          const std::vector<topology::Xid>& xids,
                          const std::optional<SharedMemory>& shared_memory,
                          const std::optional<std::string>& too_many_processes = std::nullopt,
                          const std::optional<std::string>& no_room_for_log = std::nullopt,
                          const std::optional<std::string>& unreadable_error = std::nullopt);

}  // namespace dtrain::worker
