// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// trace_rounds BYTES ROUNDS COMPUTE_US, under mpirun, with libdtrain_trace_mpi.so preloaded: time of a step,
// which computes for about COMPUTE_US and then reduces BYTES of float32 over the ranks, by the function that
// the preloaded library has ("recorded") and by that of the MPI library itself ("bare"). Both take turns
// every 100 microseconds, so that what else runs on the machine meets both; of a round the median counts.
// Rank 0 prints a line "NAME MICROSECONDS" for each.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>
#include <vector>

#include <mpi.h>

namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;
using Allreduce = decltype(&MPI_Allreduce);

struct Contender {
    const char* name;
    Allreduce allreduce;
};

/// The MPI library's own: the preloaded one is in front of MPI_ and PMPI_, as it must be for Fortran.
Allreduce allreduce_of_mpi() {
    void* const not_recorded = dlsym(RTLD_DEFAULT, "PMPI_Wtime");
    Dl_info library{};
    if (not_recorded == nullptr || dladdr(not_recorded, &library) == 0)
        throw std::runtime_error("no library of this process has PMPI_Wtime");
    void* const found = dlsym(dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD), "PMPI_Allreduce");
    if (found == nullptr) throw std::runtime_error("the MPI library has no PMPI_Allreduce");
    return reinterpret_cast<Allreduce>(found);
}

/// Work whose data fill a first-level cache, so that it feels what else is written meanwhile.
class Computing {
  public:
    explicit Computing(double microseconds) {
        if (microseconds <= 0) return;
        constexpr int probe = 200;
        pass(probe);
        const auto begin = Clock::now();
        pass(probe);
        passes_ =
            std::max(1, static_cast<int>(probe * microseconds / Microseconds(Clock::now() - begin).count()));
    }

    void operator()() { pass(passes_); }
    float result() const { return values_.front(); }

  private:
    void pass(int passes) {
        for (int i = 0; i < passes; ++i)
            for (auto& value : values_) value = value * 0.999F + 0.001F;
    }

    std::vector<float> values_ = std::vector<float>(8 << 10, 1.0F);
    int passes_ = 0;
};

/// Microseconds of a step, of some in a row.
double time_of(Allreduce allreduce, std::vector<float>& floats, Computing& compute, int steps) {
    const auto begin = Clock::now();
    for (int step = 0; step < steps; ++step) {
        compute();
        allreduce(MPI_IN_PLACE, floats.data(), static_cast<int>(floats.size()), MPI_FLOAT, MPI_MAX,
                  MPI_COMM_WORLD);
    }
    return Microseconds(Clock::now() - begin).count() / steps;
}

double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

int agreed(int value) {
    PMPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
}

void measure(std::size_t bytes, int rounds, double compute_us) {
    constexpr double chunk_us = 100, round_us = 50'000;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::vector<float> floats(bytes / sizeof(float));
    Computing compute(compute_us);
    const auto bare = allreduce_of_mpi();
    if (bare == &MPI_Allreduce) throw std::runtime_error("no library is preloaded");
    const std::array contenders{Contender{"recorded", MPI_Allreduce}, Contender{"bare", bare}};
    time_of(bare, floats, compute, 10);
    const double once = time_of(bare, floats, compute, 10);
    const int steps = agreed(std::clamp(static_cast<int>(chunk_us / once), 1, 1000));
    const int chunks = agreed(std::clamp(static_cast<int>(round_us / (steps * once)), 5, 500));
    for (int round = -1; round < rounds; ++round) {  // the first one is a warm-up
        std::array<std::vector<double>, 2> times;
        for (int chunk = 0; chunk < chunks; ++chunk)
            for (const std::size_t turn : {0, 1}) {
                const auto at =
                    chunk % 2 == 0 ? turn : 1 - turn;  // each is the first one in every second chunk
                times.at(at).push_back(time_of(contenders.at(at).allreduce, floats, compute, steps));
            }
        if (rank == 0 && round >= 0)
            for (std::size_t at = 0; at < times.size(); ++at)
                std::printf("%s %.4f\n", contenders.at(at).name, median(times.at(at)));
    }
    if (compute.result() == 0) std::printf("never\n");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: trace_rounds BYTES ROUNDS COMPUTE_US\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    measure(std::strtoull(argv[1], nullptr, 10), std::atoi(argv[2]), std::atof(argv[3]));
    MPI_Finalize();
}
