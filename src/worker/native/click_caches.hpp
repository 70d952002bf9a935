// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/communicator.hpp>

#include "worker/native/console.hpp"
#include "worker/native/job_file.hpp"

namespace dtrain::native {

/// Sees to it that the caches of the job's logs are there, when it wants any. The first rank that trains on
/// each node does, in a thread; all others wait, meeting now and then, so that no deadline passes however
/// long it takes. When one fails all give up. Collective over `world`.
/// @param trainers of which this rank is one; none on parameter servers
/// @throws UsageError on all ranks: as io::prepare_click_cache()
void prepare_click_caches(const Job& job, const Communicator& world, const Communicator* trainers,
                          const Console& console);

}  // namespace dtrain::native
