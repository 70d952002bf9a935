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

/// The size of /dev/shm here, if there is one.
std::optional<SharedMemory> shared_memory();

/// Why there is no room for more beside a log, in words, or nothing. Finds it out by writing a file there.
std::optional<std::string> no_room_for(const std::filesystem::path& log);

/// "the kernel logged Xid 79 of GPU ..." for each, the first few: one error has others follow. Pure.
std::vector<std::string> xid_info(const std::vector<topology::Xid>& xids);

/// Adds what has come to those that are known. @return the info that these have more now
std::vector<std::string> new_xid_info(std::vector<topology::Xid>& known,
                                      const std::vector<topology::Xid>& come);

/// What only a program's own machine knows about its end: whether the OOM killer did it, which errors of GPUs
/// the kernel logged, whether a limit of processes was reached, shared memory or its log's disk is full.
/// "" when it knows nothing that matters. Pure.
/// @param kills by the OOM killer while the program ran; nothing: not known
/// @param xids while the program ran
/// @param too_many_processes as PidsWatch has it
/// @param no_room_for_log as no_room_for() has it
std::string info_of_end(const ExitStatus& ended, const std::optional<OomKills>& kills,
                        const std::vector<topology::Xid>& xids,
                        const std::optional<SharedMemory>& shared_memory,
                        const std::optional<std::string>& too_many_processes = std::nullopt,
                        const std::optional<std::string>& no_room_for_log = std::nullopt);

}  // namespace dtrain::worker
