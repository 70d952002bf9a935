// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/executor.hpp>

#include "checkpoint/state_checkpoint.hpp"

namespace dtrain::checkpoint {

/// restore_first() by the first rank, from which the others get the values. Collective.
/// @param files the first rank's count; one at least
/// @param undo brings the first rank's arrays back to what they were, when nothing could be restored
/// @return the same on all ranks
/// @throws what restore_first() throws, on all ranks
Restored restore_together(const Communicator& communicator, const std::vector<std::filesystem::path>& files,
                          const std::map<std::string, std::string>& job, const StoredArrays& arrays,
                          const std::function<void()>& undo,
                          const std::function<void(const std::string&)>& warn,
                          const std::string& reader = "job");

/// The same by the first rank's copy of the values, which costs memory once more.
Restored restore_or_keep(const Communicator& communicator, const std::vector<std::filesystem::path>& files,
                         const std::map<std::string, std::string>& job, const StoredArrays& arrays,
                         const std::function<void(const std::string&)>& warn, const std::string& reader);

/// The same of the newest that can be read in a folder; the first rank's counts.
/// @param warn or nothing @return nothing when there is none: the arrays are as they were
std::optional<Restored> restore_newest(const Communicator& communicator, const CheckpointFolder& folder,
                                       const std::map<std::string, std::string>& job,
                                       const StoredArrays& arrays,
                                       const std::function<void(const std::string&)>& warn,
                                       const std::string& reader);

}  // namespace dtrain::checkpoint
