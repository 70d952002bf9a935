// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A program that test_nccl_faults.cpp starts under mpirun, with a stand-in for NCCL (nccl_stand_in.hpp): what
// ranks are told when NCCL fails on one of them, or when one does not come.
#include <chrono>
#include <string>
#include <unistd.h>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <dtrain/nccl.hpp>

#include "comm/api/reported_lines.hpp"
#include "comm/nccl/nccl_stand_in.hpp"

namespace {

using dtrain::Communicator;
using dtrain::tests::ReportedLines;
using Clock = std::chrono::steady_clock;

/// <rank> what after seconds: message
std::string report_line(int rank, const char* what, Clock::time_point since, const char* message) {
    const std::chrono::duration<double> passed = Clock::now() - since;
    int aborted = 0;
    for (const auto& call : nccl_stand_in::seen().calls) aborted += call == "abort" ? 1 : 0;
    return fmt::format("<{}> {} after {:.1f} s, {} aborted: {}", rank, what, passed.count(), aborted,
                       message);
}

void body(const Communicator& world, const std::string& scenario, ReportedLines& lines) {
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
    // One that still waited in the third would be told of the failure there.
    world.barrier();
    if (is_culprit && (scenario == "sleeps" || scenario == "hangs")) ::sleep(30);
    if (is_culprit && scenario == "late") ::sleep(4);
    const auto since = Clock::now();
    try {
        nccl.allreduce(values);
    } catch (const dtrain::Error& error) {
        // From now on everything throws the same.
        try {
            nccl.barrier();
            lines.add(fmt::format("<{}> a barrier after a failure", rank));
        } catch (const dtrain::Error& again) {
            if (std::string(again.what()) != error.what())
                lines.add(fmt::format("<{}> another error: {}", rank, again.what()));
        }
        lines.add(report_line(rank, scenario == "late" && is_culprit ? "came late" : "failed", since,
                              error.what()));
        throw;
    }
    lines.add(fmt::format("<{}> done", rank));
}

}  // namespace

int main(int, char** argv) {
    const dtrain::MpiSession session;
    const auto& world = session.world();
    const std::string scenario = argv[1];
    const auto since = Clock::now();
    ReportedLines lines(world.rank());
    int status = 9;
    const auto note = [&](const char* kind, const auto& ranks, const dtrain::Error& error, bool is_joining) {
        std::string names;
        for (const auto& rank : ranks) names += fmt::format(" {}", rank.rank);
        if (is_joining) lines.add(report_line(world.rank(), "failed", since, error.what()));
        lines.add(fmt::format("[{}] {}:{}", world.rank(), kind, names));
    };
    try {
        body(world, scenario, lines);
        lines.end();
        return 0;
    } catch (const dtrain::CommunicatorTimeout& error) {
        note("timeout", error.missing(), error, std::string(error.operation()) == "nccl_communicator");
    } catch (const dtrain::NcclError& error) {
        note("nccl", error.failed(), error, std::string(error.what()).starts_with("nccl_communicator"));
    } catch (const dtrain::Error& error) {
        lines.add(fmt::format("<{}> something else: {}", world.rank(), error.what()));
        status = 8;
    }
    lines.end();
    lines.leave_together(scenario == "sleeps" || scenario == "hangs" ? world.size() - 1 : world.size());
    return status;
}
