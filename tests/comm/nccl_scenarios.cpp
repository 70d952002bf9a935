// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A program that test_nccl_faults.cpp starts under mpirun, with a stand-in for NCCL (nccl_stand_in.hpp): what
// ranks are told when NCCL fails on one of them, or when one does not come.
#include <chrono>
#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>

#include <cuda_runtime_api.h>

#include <dtrain/nccl.hpp>

#include "comm/nccl_stand_in.hpp"

namespace {

using dtrain::Communicator;
using Clock = std::chrono::steady_clock;

/// <rank> what after seconds: message
void tell(int rank, const char* what, Clock::time_point since, const char* message) {
    const std::chrono::duration<double> passed = Clock::now() - since;
    int aborted = 0;
    for (const auto& call : nccl_stand_in::seen().calls) aborted += call == "abort" ? 1 : 0;
    std::fprintf(stderr, "<%d> %s after %.1f s, %d aborted: %s\n", rank, what, passed.count(), aborted,
                 message);
}

void body(const Communicator& world, const std::string& scenario) {
    auto& script = nccl_stand_in::script();
    const int rank = world.rank();
    const bool is_culprit = rank == 1;
    script.join_polls = script.issue_polls = 3;
    if (is_culprit && scenario == "async") {
        script.fail_at = 4;
        script.fail_code = 2;
        script.issue_polls = 0;  // NCCL takes the operation
    }
    if (is_culprit && scenario == "gpu") script.fail_at = 4;
    if (is_culprit && scenario == "handed") {
        script.fail_at = 4;
        script.fail_code = 6;  // while the operation is being handed over
    }
    if (is_culprit && scenario == "join") script.join_fails = true;
    if (scenario == "joining" && is_culprit) script.join_polls = 1'000'000'000;
    if (scenario == "hangs") script.abort_hangs = true;
    nccl_stand_in::connect();
    cudaSetDevice(world.node_rank());
    const auto nccl =
        nccl_communicator(world, {.name = "test", .abort_within = std::chrono::milliseconds(500)});
    void* memory = nullptr;
    cudaMalloc(&memory, 4000);
    const std::span<float> values(static_cast<float*>(memory), 1000);
    for (int i = 0; i < 3; ++i) nccl.allreduce(values);
    if (is_culprit && (scenario == "sleeps" || scenario == "hangs")) ::sleep(30);
    if (is_culprit && scenario == "late") ::sleep(4);
    const auto since = Clock::now();
    try {
        nccl.allreduce(values);
    } catch (const dtrain::Error& error) {
        // From now on everything throws the same.
        try {
            nccl.barrier();
            std::fprintf(stderr, "<%d> a barrier after a failure\n", rank);
        } catch (const dtrain::Error& again) {
            if (std::string(again.what()) != error.what())
                std::fprintf(stderr, "<%d> another error: %s\n", rank, again.what());
        }
        tell(rank, scenario == "late" && is_culprit ? "came late" : "failed", since, error.what());
        throw;
    }
    std::fprintf(stderr, "<%d> done\n", rank);
}

}  // namespace

int main(int, char** argv) {
    const dtrain::MpiSession session;
    const auto& world = session.world();
    const auto since = Clock::now();
    const char* kind = nullptr;
    std::string names;
    try {
        body(world, argv[1]);
        return 0;
    } catch (const dtrain::CommunicatorTimeout& error) {
        kind = "timeout";
        for (const auto& rank : error.missing()) names += " " + std::to_string(rank.rank);
        if (std::string(error.operation()) == "nccl_communicator")
            tell(world.rank(), "failed", since, error.what());
    } catch (const dtrain::NcclError& error) {
        kind = "nccl";
        for (const auto& rank : error.failed()) names += " " + std::to_string(rank.rank);
        if (std::string(error.what()).starts_with("nccl_communicator"))
            tell(world.rank(), "failed", since, error.what());
    } catch (const dtrain::Error& error) {
        std::fprintf(stderr, "<%d> something else: %s\n", world.rank(), error.what());
        ::sleep(3);
        return 8;
    }
    std::fprintf(stderr, "[%d] %s:%s\n", world.rank(), kind, names.c_str());
    ::usleep(world.rank() == 0 ? 3'000'000 : 5'000'000);  // mpirun ends all when the first one leaves
    return 9;
}
