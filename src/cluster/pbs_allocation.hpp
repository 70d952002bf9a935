// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/allocation.hpp"

namespace dtrain::cluster {

/// The nodes of the PBS job that this process belongs to, from $PBS_NODEFILE: a line for each MPI slot
/// (mpiprocs of a chunk). Nothing outside of a PBS job, or where PBS wrote no such file.
/// @param read_file content of a file, or nothing when it cannot be read
/// @throws UsageError naming file and line for what is no node, and for a file that names none.
std::optional<Allocation> pbs_allocation(
    const Environment& environment,
    const std::function<std::optional<std::string>(const std::string& path)>& read_file);

/// The folder that PBS is installed in: $PBS_EXEC, which a job need not have, or the line PBS_EXEC= of its
/// settings, or /opt/pbs. Pure.
/// @param settings content of pbs.conf, whose lines a shell could read
std::string place_of_pbs(const Environment& environment, std::string_view settings);

/// Whether OMP_NUM_THREADS is PBS' own, which is the number of processors of a chunk (as NCPUS is) in each of
/// its processes, and more than the processors of this rank: several ranks share the chunk. Pure.
/// @param threads as many as the rank has processors
bool gives_too_many_threads(const Environment& environment, int threads);

}  // namespace dtrain::cluster
