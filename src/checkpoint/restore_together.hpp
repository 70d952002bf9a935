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

/// The same for the newest readable checkpoint of a folder; the first rank's folder is used.
/// @param warn may be empty @return nothing if there is none; the arrays are then unchanged
std::optional<Restored> restore_newest(const Communicator& communicator, const CheckpointFolder& folder,
                                       const std::map<std::string, std::string>& job,
                                       const StoredArrays& arrays,
                                       const std::function<void(const std::string&)>& warn,
                                       const std::string& reader);

}  // namespace dtrain::checkpoint
