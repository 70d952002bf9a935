// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "protocol/rank_list.hpp"

/// Parses srun's messages. Pure.
namespace dtrain::launch {

/// The ranks in the first message about failed tasks ("srun: error: node2: tasks 2-3: Killed"), if any.
std::optional<cluster::RankList> ranks_named_by_srun(const std::string& srun_text);

/// The node that Slurm reports as failed ("srun: error: Node failure on node2"), if any.
std::optional<std::string> node_failed_for_srun(const std::string& srun_text);

/// Why Slurm itself ended the job's step ("slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT
/// 2026-11-25T14:28:55 DUE TO TIME LIMIT ***"), as a phrase; nothing if it did not.
std::optional<std::string> cancelled_by_slurm(const std::string& srun_text);

}  // namespace dtrain::launch
