// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <mutex>

#include <dtrain/environment.hpp>
#include <dtrain/spawn.hpp>

#include "base/files.hpp"
#include "base/text.hpp"
#include "comm/has_world.hpp"
#include "comm/launched.hpp"
#include "spawn/launch_command.hpp"
#include "spawn/spawn_request.hpp"
#include "spawn/spawned_ranks.hpp"

namespace dtrain {
namespace {

using spawning::CallSoFar;
using StatePointer = std::shared_ptr<SpawnedRanks::State>;

/// A call of spawn() in this process.
struct Call {
    int nprocs = 0;
    std::string refused;
    std::shared_future<spawning::Outcome> outcome;

    CallSoFar so_far() const {
        CallSoFar so_far{nprocs, refused, {}};
        if (outcome.valid() && outcome.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
            so_far.outcome = outcome.get();
        return so_far;
    }
};

struct Calls {
    std::mutex mutex;
    std::vector<Call> all;
    bool runs_function = false;
};

Calls& calls() {
    static Calls calls;
    return calls;
}

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

StatePointer start(std::size_t call, const std::vector<CallSoFar>& earlier, const std::string& arguments,
                   const SpawnOptions& options) {
    const auto environment = Environment::of_this_process();
    refuse_ranks(environment);
    const auto machine = topology::restricted(topology::discover(), CpuSet::of_this_thread());
    const auto ranks = spawning::ranks_to_spawn(
        options, machine, topology::visible_gpus(machine, environment.get("CUDA_VISIBLE_DEVICES")));
    const auto launcher = spawning::find_launcher(environment);
    auto folder = std::make_unique<TemporaryFolder>();
    const spawning::SpawnFolder files(folder->path());
    files.write_request(arguments, earlier);
    ProcessOptions process{
        .argv = spawning::launch_command(launcher, ranks, options, files, spawning::this_command()),
        .environment = spawning::launch_environment(environment, ranks, call, files),
        .pipe_output = false,
        .errors_to = files.messages(),
        .parent_death_signal = SIGTERM};
    return std::make_shared<SpawnedRanks::State>(ranks.count, std::move(folder), std::move(process));
}

/// The outcome of an earlier call, in a rank of a later one.
StatePointer again(const CallSoFar& call) {
    if (!call.refused.empty()) throw UsageError(call.refused);
    return std::make_shared<SpawnedRanks::State>(call.nprocs, call.outcome);
}

}  // namespace

bool is_spawned_rank() {
    return spawning::request_of_this_process().has_value();
}

namespace spawning {

StatePointer begin(const std::string& arguments, const SpawnOptions& options,
                   const std::function<std::string(const std::string&)>& run) {
    auto& [mutex, all, runs_function] = calls();
    std::unique_lock lock(mutex);
    if (runs_function)
        throw UsageError("spawn: this process is a rank of spawn() already; its function cannot spawn");
    const auto number = all.size();
    auto& call = all.emplace_back();
    if (const auto& request = request_of_this_process()) {
        if (number < request->call) return again(request->folder.earlier_calls().at(number));
        runs_function = true;
        lock.unlock();
        fulfil(*request, run);
    }
    try {
        std::vector<CallSoFar> earlier;
        for (std::size_t i = 0; i < number; ++i) earlier.push_back(all[i].so_far());
        auto state = start(number, earlier, arguments, options);
        call.nprocs = state->nprocs();
        call.outcome = state->outcome();
        return state;
    } catch (const UsageError& refused) {
        call.refused = refused.what();
        throw;
    }
}

}  // namespace spawning
}  // namespace dtrain
