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

/// Calls restore_first() on the first rank and sends the values to the others. Collective.
/// @param files the first rank's are used; at least one
/// @param undo resets the first rank's arrays to their previous values if nothing could be restored
/// @return the same on all ranks
/// @throws what restore_first() throws, on all ranks
Restored restore_together(const Communicator& communicator, const std::vector<std::filesystem::path>& files,
                          const std::map<std::string, std::string>& job, const StoredArrays& arrays,
                          const std::function<void()>& undo,
                          const std::function<void(const std::string&)>& warn,
                          const std::string& reader = "job");

/// The same, where the first rank keeps a copy of the values to undo with, which needs their memory once
/// more.
Restored restore_or_keep(const Communicator& communicator, const std::vector<std::filesystem::path>& files,
                         const std::map<std::string, std::string>& job, const StoredArrays& arrays,
                         const std::function<void(const std::string&)>& warn, const std::string& reader);

/// The checkpoints to try, on the first rank, whose folder is read; none on the others. Collective.
/// @throws Error on all ranks if the first one cannot read its folder
std::vector<std::filesystem::path> candidates_together(const Communicator& communicator,
                                                       const CheckpointFolder& folder);

/// The same as restore_or_keep() for the newest readable checkpoint of a folder; the first rank's folder is
/// used.
/// @throws Error as candidates_together()
/// @param warn may be empty @return nothing if there is none; the arrays are then unchanged
std::optional<Restored> restore_newest(const Communicator& communicator, const CheckpointFolder& folder,
                                       const std::map<std::string, std::string>& job,
                                       const StoredArrays& arrays,
                                       const std::function<void(const std::string&)>& warn,
                                       const std::string& reader);

}  // namespace dtrain::checkpoint
