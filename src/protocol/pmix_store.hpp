// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

namespace dtrain::cluster {

/// Makes a rank of srun query the PMIx server for other ranks' data instead of reading it from shared memory:
/// in PMIx before version 5 (its stores ds21 and ds12) ranks occasionally crash in MPI_Init
/// (openpmix/openpmix#1114 and #2210). Keeps a PMIX_MCA_gds set by the user. Pure.
void choose_pmix_store(Environment& environment);

}  // namespace dtrain::cluster
