// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain::comm {

/// True while this process has a world of ranks: a ParallelEnv exists (also alone, without MPI), or MPI runs.
bool has_world();

}  // namespace dtrain::comm
