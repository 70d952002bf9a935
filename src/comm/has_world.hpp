// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain::comm {

/// True while this process has its world of ranks: a ParallelEnv lives (alone, without MPI, too), or MPI
/// runs.
bool has_world();

}  // namespace dtrain::comm
