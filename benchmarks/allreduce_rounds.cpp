// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// allreduce_rounds BYTES ROUNDS, under mpirun: time of one in-place sum of float32, for every contender in
// turn. Rank 0 prints a line "NAME MICROSECONDS" per contender and round.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <mpi.h>

#include <dtrain/communicator.hpp>

namespace {

struct Contender {
    std::string name;
    std::function<void()> sum;
};

/// Microseconds per call on the slowest rank.
double time_of(const std::function<void()>& call, int repeats) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) call();
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
    double slowest = spent.count() / repeats;
    MPI_Allreduce(MPI_IN_PLACE, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

void measure(std::size_t bytes, int rounds) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const auto world = dtrain::mpi_world();
    std::vector<float> floats(bytes / sizeof(float));
    const auto shared = world.allocate(bytes);
    const std::vector<Contender> contenders{
        {"mpi",
         [&] {
             MPI_Allreduce(MPI_IN_PLACE, floats.data(), static_cast<int>(floats.size()), MPI_FLOAT, MPI_SUM,
                           MPI_COMM_WORLD);
         }},
        {"window", [&] { world.allreduce(shared.as<float>()); }},
        {"foreign", [&] { world.allreduce(std::span(floats)); }},
    };
    // A round of one contender takes about 20 ms.
    const double once = time_of(contenders.front().sum, 3);
    const int repeats = std::clamp(static_cast<int>(20'000 / once), 1, 2000);
    for (int round = -1; round < rounds; ++round) {  // the first one is a warm-up
        for (const auto& [name, sum] : contenders) {
            const double spent = time_of(sum, repeats);
            if (rank == 0 && round >= 0) std::printf("%s %.3f\n", name.c_str(), spent);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: allreduce_rounds BYTES ROUNDS\n");
        return 2;
    }
    const dtrain::MpiSession session;
    measure(std::strtoull(argv[1], nullptr, 10), std::atoi(argv[2]));
}
