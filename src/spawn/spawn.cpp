// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include <dtrain/spawn.hpp>

#include "spawn/launch_command.hpp"
#include "spawn/spawn_request.hpp"
#include "spawn/spawned_ranks.hpp"
#include "spawn/start_ranks.hpp"

namespace dtrain {
namespace {

using spawning::CallState;
using StatePointer = std::shared_ptr<SpawnedRanks::State>;

/// A call of spawn() in this process.
struct Call {
    int nprocs = 0;
    std::string refused;
    std::shared_future<spawning::Outcome> outcome;

    CallState so_far() const {
        CallState so_far{nprocs, refused, {}};
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

/// The outcome of an earlier call, in a rank of a later one.
StatePointer again(const CallState& call) {
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
        run_as_rank(*request, run);
    }
    try {
        std::vector<CallState> earlier;
        for (std::size_t i = 0; i < number; ++i) earlier.push_back(all[i].so_far());
        auto state = spawning::start_ranks({number, earlier, arguments, spawning::this_command()}, options);
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
