// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/communicator.hpp>

#include "native/console.hpp"
#include "native/job_file.hpp"
#include "native/options.hpp"

namespace dtrain::native {

/// Runs train() for a job whose first ranks are parameter servers. Collective.
/// @return the exit status, the same on all ranks
int train_with_servers(const Options& options, Job job, int servers, const Communicator& world,
                       const Console& console);

}  // namespace dtrain::native
