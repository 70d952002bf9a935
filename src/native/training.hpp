// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/communicator.hpp>

#include "native/console.hpp"
#include "native/options.hpp"

namespace dtrain::native {

/// Runs a training job according to the options, from job file to last checkpoint. Collective.
/// @param command how the program was called, for advice
/// @return exit status: 0, or status_retry_later if the job was asked to stop (SIGUSR1, --time-limit)
/// @throws UsageError on all ranks before anything has been written; Error
int train(const Options& options, const Communicator& world, const std::string& command,
          const Console& console);

}  // namespace dtrain::native
