// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <mpi.h>

#include <dtrain/cpuset.hpp>
#include <dtrain/environment.hpp>

namespace dtrain::comm {

/// How many processors a rank has for itself: of those that it may use, an equal share with the ranks of its
/// node that may use some of them too; at least 1. Pure.
/// @param of_node what each rank of the node may use
int own_processors(const std::vector<CpuSet>& of_node, std::size_t rank);

/// Of this rank among the ranks of a node. Collective over the node.
int own_processors(MPI_Comm node);

/// OpenMP starts as many threads for what the calling thread computes from now on, unless the user has said
/// how many, by OMP_NUM_THREADS or by omp_set_num_threads(): by itself it takes all processors that a rank
/// may use, and where several ranks share them they wait for each other's threads (some 20 to 70 times as
/// long as one thread a rank takes).
void compute_on(int processors, const Environment& environment);

}  // namespace dtrain::comm
