// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <dtrain/environment.hpp>

#include "base/subprocess.hpp"
#include "launch/backend/mpirun/mpirun.hpp"

namespace dtrain::launch {

/// Runs `mpirun --version` while this process does something else.
class MpirunProbe {
  public:
    /// @throws UsageError if there is no mpirun in PATH
    explicit MpirunProbe(const Environment& environment);

    /// Waits for the answer. @throws UsageError if it is not Open MPI's
    MpirunVersion open_mpi();

  private:
    std::optional<Subprocess> process_;
};

}  // namespace dtrain::launch
