// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <dtrain/environment.hpp>

#include "base/subprocess.hpp"

namespace dtrain::launch {

/// Runs `mpirun --version` while this process does something else.
class MpirunProbe {
  public:
    /// @throws UsageError if there is no mpirun in PATH
    explicit MpirunProbe(const Environment& environment);

    /// @throws UsageError if it is not Open MPI's
    void require_open_mpi();

  private:
    std::optional<Subprocess> process_;
};

}  // namespace dtrain::launch
