// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <mpi.h>

#include <dtrain/cpuset.hpp>
#include <dtrain/environment.hpp>

namespace dtrain::comm {

/// Number of CPU cores for a rank alone: an equal part of those that it may use among the ranks of its node
/// that may use any of them too; at least 1. Pure. @param of_node the cores that each rank of the node may
/// use
int own_processors(const std::vector<CpuSet>& of_node, std::size_t rank);

/// For this rank among the ranks of a node. Collective over the node.
int own_processors(MPI_Comm node);

/// Sets the number of OpenMP threads for the calling thread, unless the user has set it by OMP_NUM_THREADS or
/// omp_set_num_threads(). By default OpenMP uses all processors that a rank may use, and if several ranks
/// share them, they wait for each other's threads (about 20 to 70 times slower than with one thread per
/// rank).
void compute_on(int processors, const Environment& environment);

}  // namespace dtrain::comm
