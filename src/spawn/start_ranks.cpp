// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "spawn/start_ranks.hpp"

#include <csignal>

#include <dtrain/environment.hpp>

#include "base/files.hpp"
#include "base/text.hpp"
#include "comm/api/has_world.hpp"
#include "comm/api/launched.hpp"
#include "spawn/launch_command.hpp"
#include "spawn/spawned_ranks.hpp"

namespace dtrain::spawning {
namespace {

/// The environment with which the process was started: MPI without a launcher sets a launcher's variables
/// while it runs.
Environment environment_at_start() {
    Environment found;
    for (const auto& text : split(read_file("/proc/self/environ").value_or(""), '\0'))
        if (const auto equals = text.find('='); equals != std::string::npos)
            found.set(text.substr(0, equals), text.substr(equals + 1));
    return found;
}

void refuse_ranks(const Environment& environment) {
    const bool has_world = comm::has_world();
    if (comm::is_launched(has_world ? environment_at_start() : environment))
        throw UsageError(
            "spawn: this process is a rank of a job already, by dtrain-launch, mpirun or srun; spawn() "
            "starts its ranks itself: start the program without a launcher, or call the function");
    if (has_world)
        throw UsageError(
            "spawn: a ParallelEnv or MpiSession lives in this process, and the ranks, which run main() up to "
            "here, would have it too, and could make no other; call spawn() before it, or make it in the "
            "function");
}

}  // namespace

std::shared_ptr<SpawnedRanks::State> start_ranks(const RanksProgram& program, const SpawnOptions& options) {
    const auto environment = Environment::of_this_process();
    refuse_ranks(environment);
    const auto machine = topology::restricted(topology::discover(), CpuSet::of_this_thread());
    const auto ranks = ranks_to_spawn(
        options, machine, topology::visible_gpus(machine, environment.get("CUDA_VISIBLE_DEVICES")));
    const auto launcher = find_launcher(environment);
    auto folder = std::make_unique<TemporaryFolder>();
    const SpawnFolder files(folder->path());
    files.write_request(program.arguments, program.earlier);
    ProcessOptions process{.argv = launch_command(launcher, ranks, options, files, program.command),
                           .environment = launch_environment(environment, ranks, program.call, files),
                           .pipe_output = false,
                           .errors_to = files.messages(),
                           .parent_death_signal = SIGTERM,
                           .inherited = folder->claim()};
    return std::make_shared<SpawnedRanks::State>(ranks.count, std::move(folder), std::move(process));
}

}  // namespace dtrain::spawning
