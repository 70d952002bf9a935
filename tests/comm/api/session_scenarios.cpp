// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A program that test_session.cpp and test_timeout.cpp start under mpirun: how MPI ends when ranks fail, or
// do not come.
#include <csignal>
#include <cstdio>
#include <omp.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include <dtrain/communicator.hpp>
#include <dtrain/mpi.hpp>
#include <dtrain/parallel_env.hpp>

#include "comm/api/reported_lines.hpp"

namespace {

int session(const std::string& scenario) {
    const dtrain::MpiSession session;
    const auto& world = session.world();
    if (scenario == "well") return 0;
    if (scenario == "together") {
        dtrain::throw_together(world, world.rank() == world.size() - 1
                                          ? std::optional<std::string>("the last rank cannot")
                                          : std::nullopt);
    }
    // alone: the last rank throws while the others wait for it
    if (world.rank() == world.size() - 1) throw dtrain::Error("one rank fails");
    world.barrier();
    return 0;
}

/// Rank 1 goes away after three operations, or rank 0 before the first; all others say on one line what they
/// are told.
int stuck(const dtrain::Communicator& world, const std::string& scenario) {
    std::vector<float> values(200'000, 1.0F);
    const bool is_first = scenario == "late_first";
    for (int i = 0; i < (is_first ? 0 : 3); ++i) world.allreduce(std::span(values).first(100));
    const bool is_away = world.rank() == (is_first ? 0 : 1);
    try {
        if (is_first && is_away) ::sleep(4);
        if (scenario == "late" && is_away) ::sleep(4);
        if (scenario == "sleeps" && is_away) ::sleep(30);
        if (scenario == "stopped" && is_away) ::raise(SIGSTOP);
        if (scenario == "message") {
            if (world.rank() == 0) world.receive(std::span(values), 1);
            if (is_away) ::sleep(30);
        }
        if (scenario == "message_of_any") {
            if (world.rank() == 0) (void)world.receive_any(std::span(values));
            if (is_away) ::sleep(30);
        }
        if (scenario == "subset") {
            if (is_away) ::sleep(30);
            (void)world.subset(std::vector{0, 1});
        }
        if (scenario == "started") {
            auto request = world.start_allreduce(std::span(values));
            if (is_away) ::sleep(30);
            request.wait();
        }
        if (scenario == "gather") {
            if (is_away) ::sleep(30);
            std::vector<float> all(values.size() * static_cast<std::size_t>(world.size()));
            world.all_gather(std::span<const float>(values), std::span(all));
        }
        world.allreduce(std::span(values));
    } catch (const dtrain::CommunicatorTimeout& timeout) {
        std::string missing;
        for (const auto& rank : timeout.missing()) missing += " " + std::to_string(rank.rank);
        dtrain::tests::ReportedLines lines(world.rank());
        lines.add(fmt::format("<{}> after {:.1f} s, {} {} misses{}: {}", world.rank(),
                              timeout.waited().count(), timeout.operation(), timeout.number(), missing,
                              timeout.what()));
        lines.end();
        const bool all_time_out = scenario == "late" || is_first;
        const bool is_for_one = world.size() == 2;
        lines.leave_together(is_for_one ? 1 : all_time_out ? world.size() : world.size() - 1);
        return 9;
    }
    return 0;
}

/// All ranks say how many threads compute.
int threads() {
    const dtrain::MpiSession session;
    dtrain::tests::ReportedLines lines(session.world().rank());
    lines.add(fmt::format("<{}> {} processors, {} threads", session.world().rank(), session.processors(),
                          omp_get_max_threads()));
    lines.end();
    return 0;
}

/// MPI begins and ends in the caller's hands.
int with_mpi_of_the_caller() {
    int level = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &level);
    int own_rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
    int status = 1;
    {
        const auto world = dtrain::from_mpi(MPI_COMM_WORLD);
        const auto half = world.split(own_rank % 2, 0);
        MPI_Comm copy = dtrain::to_mpi(half);
        int members = 1;
        MPI_Allreduce(MPI_IN_PLACE, &members, 1, MPI_INT, MPI_SUM, copy);
        MPI_Comm_free(&copy);
        const auto pairs = world.sum(std::int64_t{own_rank + 1}) * 2;
        const bool adds = pairs == std::int64_t{world.size()} * (world.size() + 1);
        if (adds && members == half.size() && world.rank() == own_rank) status = 0;
    }
    MPI_Finalize();
    // Without MPI there is neither.
    try {
        (void)dtrain::to_mpi(dtrain::Communicator());
        status = 3;
    } catch (const dtrain::Error&) {
    }
    try {
        (void)dtrain::from_mpi(MPI_COMM_WORLD);
        status = 4;
    } catch (const dtrain::Error&) {
    }
    return status;
}

int environment(int argc, char** argv) {
    const dtrain::ParallelEnv env(argc, argv);
    std::vector<int> ones{1};
    env.communicator().allreduce(std::span(ones));
    std::printf("rank %d of %d, %d of %d on %d node(s), %s, sum %d\n", env.rank(), env.world_size(),
                env.local_rank(), env.local_size(), env.nodes(), env.device().c_str(), ones[0]);
    if (argc > 2 && env.rank() == env.world_size() - 1) throw dtrain::Error("one rank fails");
    env.communicator().barrier();
    return 0;
}

int body(int argc, char** argv) {
    const std::string scenario = argv[1];
    if (scenario == "environment") return environment(argc, argv);
    if (scenario == "threads") return threads();
    if (scenario == "mpi_of_the_caller") return with_mpi_of_the_caller();
    if (scenario == "well" || scenario == "together" || scenario == "alone") return session(scenario);
    const dtrain::MpiSession session;
    return stuck(session.world(), scenario);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return body(argc, argv);
    } catch (const dtrain::UsageError& error) {
        std::fprintf(stderr, "agreed: %s\n", error.what());
        return 2;
    } catch (const dtrain::Error& error) {
        std::fprintf(stderr, "caught: %s\n", error.what());
        if (std::string(argv[1]) == "environment") return 6;
        dtrain::abort_job(7);
    }
}
