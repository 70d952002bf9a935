// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

namespace dtrain::cluster {

/// Has a rank of srun ask PMIx' server for what others have said, in place of reading it in shared memory: in
/// PMIx before version 5 (its stores ds21 and ds12) ranks crash in MPI_Init now and then
/// (openpmix/openpmix#1114 and #2210). A PMIX_MCA_gds of the user's stays. Pure.
void choose_pmix_store(Environment& environment);

}  // namespace dtrain::cluster
