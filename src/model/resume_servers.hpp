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
#include <dtrain/parameter_servers.hpp>

#include "checkpoint/state_checkpoint.hpp"

namespace dtrain::model {

/// Makes all servers load the first of the checkpoints that all of them can read, and informs all ranks.
/// Collective over `world`.
/// @param candidates the first trainer's are used; empty: nothing is loaded
/// @param server null on trainers
/// @param job as CheckpointHeader::job; the first trainer's is used
/// @param reader word for the reader in messages, as of checkpoint::check_job()
/// @param warn called on the first trainer for each checkpoint that cannot be read
/// @return what was loaded; the header is set on the first trainer only
/// @throws UsageError on all ranks if none can be read, or it belongs to another job
std::optional<checkpoint::Restored> resume_servers(const ServerRanks& ranks, const Communicator& world,
                                                   const std::vector<std::filesystem::path>& candidates,
                                                   ParameterServer* server,
                                                   const std::map<std::string, std::string>& job,
                                                   const std::function<void(const std::string&)>& warn,
                                                   const std::string& reader = "job");

/// Loads the row state that each trainer of geo mode has alone, if the same number of trainers saved it;
/// otherwise it starts anew and `warn` is called on the first trainer. Collective over the trainers.
/// @throws UsageError on all trainers if it cannot be read
void resume_trainer_rows(const ServerConnection& servers, const Communicator& trainers,
                         const std::filesystem::path& folder,
                         const std::function<void(const std::string&)>& warn);

}  // namespace dtrain::model
