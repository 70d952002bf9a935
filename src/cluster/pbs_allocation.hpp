// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/allocation.hpp"

namespace dtrain::cluster {

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
std::string place_of_pbs(const Environment& environment, std::string_view settings);

/// Whether OMP_NUM_THREADS was set by PBS, which sets it to the number of processors of a chunk (like NCPUS)
/// in each of the chunk's processes, and is more than the processors of this rank, because several ranks
/// share the chunk. Pure.
/// @param threads number of processors of the rank
bool gives_too_many_threads(const Environment& environment, int threads);

}  // namespace dtrain::cluster
