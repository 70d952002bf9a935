// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

namespace dtrain::comm {

/// True if a launcher started this process as a rank of a job, so that MPI can determine its rank.
bool is_launched(const Environment& environment);

}  // namespace dtrain::comm
