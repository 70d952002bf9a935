// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/communicator.hpp>

#include "native/console.hpp"
#include "native/job_file.hpp"

namespace dtrain::native {

/// Creates or checks the caches of the job's click logs, if the job uses any. On each node the first training
/// rank does the work in a thread; all ranks synchronize periodically meanwhile, so that no deadline passes
/// however long it takes. If it fails on one node, all stop. Collective over `world`.
/// @param trainers the communicator of the training ranks; null on parameter servers
/// @throws UsageError on all ranks: as data::prepare_click_cache()
void prepare_click_caches(const Job& job, const Communicator& world, const Communicator* trainers,
                          const Console& console);

}  // namespace dtrain::native
