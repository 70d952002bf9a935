// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <dtrain/cpuset.hpp>
#include <dtrain/environment.hpp>

namespace dtrain::cluster {

/// The union of the processors to which Slurm bound the tasks of this node; nothing if it bound none, or in a
/// way that its variables do not show.
std::optional<CpuSet> slurm_bound_cpus(const Environment& environment);

}  // namespace dtrain::cluster
