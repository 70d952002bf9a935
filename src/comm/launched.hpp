// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

namespace dtrain::comm {

/// True when a launcher started this process as one of the ranks of a job, so that MPI can tell it which.
bool is_launched(const Environment& environment);

}  // namespace dtrain::comm
