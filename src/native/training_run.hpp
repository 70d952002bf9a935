// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <dtrain/communicator.hpp>

#include "native/console.hpp"
#include "native/job_input.hpp"
#include "native/job_ranks.hpp"
#include "native/options.hpp"
#include "native/trainer.hpp"

namespace dtrain::native {

/// Trains with the input that was read. Collective over the training ranks.
/// @param resumed the checkpoint from which it resumes, if any
/// @return 0, or status_retry_later if the job was stopped early
/// @throws UsageError on all ranks if no checkpoints can be written; Error
int train_with(const JobInput& input, Trainer& trainer, const std::optional<std::filesystem::path>& resumed,
               const Options& options, const Communicator& trainers, const JobRanks& ranks,
               const Console& console);

/// Prints the time per operator on this rank.
void print_profile(const Trainer& trainer, const Communicator& trainers, const Console& console);

}  // namespace dtrain::native
