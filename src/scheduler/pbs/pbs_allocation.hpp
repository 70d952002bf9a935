// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/allocation.hpp"

namespace dtrain::scheduler {

/// The nodes of the PBS job that this process belongs to, from $PBS_NODEFILE: one line for each MPI slot
/// (mpiprocs of a chunk). Nothing outside of a PBS job, or if PBS wrote no such file.
/// @param read_file content of a file, or nothing if it cannot be read
/// @throws UsageError naming file and line for an invalid node, and for a file without nodes.
std::optional<Allocation> pbs_allocation(
    const Environment& environment,
    const std::function<std::optional<std::string>(const std::string& path)>& read_file);

/// The folder in which PBS is installed: $PBS_EXEC, which a job may lack, or the line PBS_EXEC= of its
/// settings, or /opt/pbs. Pure.
/// @param settings content of pbs.conf, whose lines have shell syntax
std::string pbs_prefix(const Environment& environment, std::string_view settings);

}  // namespace dtrain::scheduler
