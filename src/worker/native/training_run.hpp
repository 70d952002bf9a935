// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <dtrain/communicator.hpp>

#include "worker/native/console.hpp"
#include "worker/native/job_input.hpp"
#include "worker/native/job_ranks.hpp"
#include "worker/native/options.hpp"
#include "worker/native/trainer.hpp"

namespace dtrain::native {

/// Trains with what was read. Collective over the ranks that train.
/// @param resumed the checkpoint that it goes on from, if it does
/// @return 0, or status_later when the job was stopped in time
/// @throws UsageError on all ranks when no checkpoints can be written, Error
int train_with(const JobInput& input, Trainer& trainer, const std::optional<std::filesystem::path>& resumed,
               const Options& options, const Communicator& trainers, const JobRanks& ranks,
               const Console& console);

/// The time of every operator on this rank.
void print_profile(const Trainer& trainer, const Communicator& trainers, const Console& console);

}  // namespace dtrain::native
