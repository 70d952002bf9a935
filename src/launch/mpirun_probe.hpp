// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <dtrain/environment.hpp>

#include "base/subprocess.hpp"

namespace dtrain::launch {

/// `mpirun --version`, asked while this process does something else.
class MpirunProbe {
  public:
    /// @throws UsageError when there is no mpirun in PATH
    explicit MpirunProbe(const Environment& environment);

    /// @throws UsageError when it is not Open MPI's
    void require_open_mpi();

  private:
    std::optional<Subprocess> process_;
};

}  // namespace dtrain::launch
