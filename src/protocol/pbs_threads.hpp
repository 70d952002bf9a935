// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

namespace dtrain::cluster {

/// Whether OMP_NUM_THREADS was set by PBS, which sets it to the number of processors of a chunk (like NCPUS)
/// in each of the chunk's processes, and is more than the processors of this rank, because several ranks
/// share the chunk. Pure.
/// @param threads number of processors of the rank
bool pbs_thread_count_too_high(const Environment& environment, int threads);

}  // namespace dtrain::cluster
