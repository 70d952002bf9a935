// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/api/own_processors.hpp"

#include <algorithm>
#include <numeric>
#include <omp.h>
#include <string>

#include "comm/mpi/mpi_error.hpp"

namespace dtrain::comm {
namespace {

std::vector<CpuSet> gather(const CpuSet& own, MPI_Comm node) {
    int size = 0;
    check(MPI_Comm_size(node, &size), "MPI_Comm_size");
    const auto ranks = static_cast<std::size_t>(size);
    const auto text = own.to_string();
    const int length = static_cast<int>(text.size());
    std::vector<int> lengths(ranks), begins(ranks);
    check(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, node), "MPI_Allgather");
    std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
    std::string all(static_cast<std::size_t>(begins.back() + lengths.back()), '\0');
    check(MPI_Allgatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), begins.data(), MPI_CHAR,
                         node),
          "MPI_Allgatherv");
    std::vector<CpuSet> sets;
    sets.reserve(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
        sets.push_back(CpuSet::parse(
            all.substr(static_cast<std::size_t>(begins[rank]), static_cast<std::size_t>(lengths[rank]))));
    return sets;
}

}  // namespace

int own_processors(const std::vector<CpuSet>& of_node, std::size_t rank) {
    const auto& own = of_node.at(rank);
    const auto sharing = std::count_if(of_node.begin(), of_node.end(),
                                       [&](const CpuSet& other) { return own.intersects(other); });
    return sharing == 0 ? 1 : std::max(own.count() / static_cast<int>(sharing), 1);
}

int own_processors(MPI_Comm node) {
    int rank = 0;
    check(MPI_Comm_rank(node, &rank), "MPI_Comm_rank");
    return own_processors(gather(CpuSet::of_this_thread(), node), static_cast<std::size_t>(rank));
}

void compute_on(int processors, const Environment& environment) {
    const bool is_users_choice =
        !environment.get_or("OMP_NUM_THREADS", "").empty() || omp_get_max_threads() != omp_get_num_procs();
    if (!is_users_choice) omp_set_num_threads(processors);
}

}  // namespace dtrain::comm
