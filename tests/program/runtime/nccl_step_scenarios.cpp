// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A program that test_nccl_steps.cpp starts under mpirun, with stand-ins for the GPU and for NCCL: what ranks
// are told when steps are graphs with NCCL's sums in them and rank 1 fails, or does not come.
//   nccl_step_scenarios well|sleeps|late|async|gpu|graph run|fetch|parameters
#include <algorithm>
#include <chrono>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/nccl.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "comm/api/reported_lines.hpp"
#include "comm/nccl/nccl_stand_in.hpp"
#include "program/state/state_access.hpp"

namespace {

using namespace dtrain;
using Clock = std::chrono::steady_clock;

constexpr int good_steps = 5;
/// Of NCCL: a sum of zeros, one that is captured, and one of each good step are before it.
constexpr int bad_operation = good_steps + 3;
constexpr int captured_operation = 2;

struct Training {
    Program program;
    std::string loss;

    explicit Training(int ranks) {
        const auto x = layers::data(program, "x", {4, 6});
        loss = layers::mean(program, layers::fc(program, x, 3));
        minimize(program, loss, Sgd{});
        program = data_parallel(program, {.ranks = ranks});
    }
};

/// What the caller does after a step.
void look(Executor& executor, const std::string& loss, const std::string& how) {
    if (how == "fetch") executor.fetch(loss);
    if (how == "parameters") parameters_checksum(executor.state());
}

std::size_t runs_of(const State& state) {
    return program::StateAccess::on_gpu(state)->gpu()->given().graphs_run;
}

void body(const Communicator& world, const std::string& scenario, const std::string& how,
          tests::ReportedLines& lines) {
    const int rank = world.rank();
    auto& script = nccl_stand_in::script();
    if (rank == 1 && (scenario == "async" || scenario == "gpu")) {
        script.fail_at = bad_operation;
        script.fail_code = scenario == "async" ? 2 : 0;
    }
    if (rank == 1 && scenario == "graph") script.fail_capture_at = captured_operation;
    nccl_stand_in::connect();
    const Training training(world.size());
    const State state(training.program, 1);
    Executor executor(training.program, state, world, {.device = Device::gpu(0), .nccl = true});
    world.barrier();  // one that is still being made would be told of a failure there
    if (scenario != "graph") {
        for (int step = 0; step < good_steps; ++step) executor.run();
        executor.fetch(training.loss);
        world.barrier();
    }
    if (rank == 1 && scenario == "sleeps") ::sleep(30);
    if (rank == 1 && scenario == "late") ::sleep(4);
    const auto since = Clock::now();
    try {
        for (int step = 0; step < 6; ++step) {
            executor.run();
            look(executor, training.loss, how);
        }
    } catch (const Error& error) {
        const std::chrono::duration<double> passed = Clock::now() - since;
        const auto runs = runs_of(state);
        try {
            executor.run();
            lines.add(fmt::format("<{}> a step after a failure", rank));
        } catch (const Error& other) {
            if (std::string(other.what()) != error.what())
                lines.add(fmt::format("<{}> says something else: {}", rank, other.what()));
        }
        if (runs_of(state) != runs) lines.add(fmt::format("<{}> ran a graph after a failure", rank));
        const auto aborted = std::ranges::count(nccl_stand_in::seen().calls, "abort");
        lines.add(fmt::format("<{}> failed after {:.1f} s, {} aborted: {}", rank, passed.count(), aborted,
                              error.what()));
        throw;
    }
    lines.add(fmt::format("<{}> done", rank));
}

}  // namespace

int main(int, char** argv) {
    const MpiSession session;
    const auto& world = session.world();
    const std::string scenario = argv[1];
    tests::ReportedLines lines(world.rank());
    int status = 9;
    try {
        body(world, scenario, argv[2], lines);
        for (const auto& wrong : nccl_stand_in::seen().wrong)
            lines.add(fmt::format("<{}> wrong: {}", world.rank(), wrong));
        lines.end();
        return 0;
    } catch (const CommunicatorTimeout&) {
        lines.add(fmt::format("<{}> timeout", world.rank()));
    } catch (const NcclError&) {
        lines.add(fmt::format("<{}> nccl", world.rank()));
    } catch (const Error& error) {
        lines.add(fmt::format("<{}> another kind of error: {}", world.rank(), error.what()));
        status = 8;
    }
    lines.end();
    lines.leave_together(scenario == "sleeps" ? world.size() - 1 : world.size());
    return status;
}
