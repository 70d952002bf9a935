// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <dtrain/error.hpp>
#include <dtrain/spawn_value.hpp>

/// A plain program that starts ranks of its own: what Paddle's documents call paddle.distributed.spawn.
///
///     void train(bool print_result) {
///         const dtrain::ParallelEnv env(0, nullptr);
///         ...
///     }
///
///     int main() {
///         dtrain::spawn(train, std::tuple(true), {.nprocs = 2});
///     }
///
/// spawn() starts this program again, nprocs times, through dtrain-launch, with the arguments and the
/// environment that it was started with. In each of these processes main() runs again up to the same call of
/// spawn(), which then calls the function and exits. So what stands before it runs in every rank as well, and
/// nothing behind it does. Calls of spawn() before that one return there what they returned, or throw what
/// they threw, here. The function gets the values that the arguments have here, whatever main() makes of them
/// there; what a lambda captures is made by main() there.
namespace dtrain {

struct SpawnOptions {
    /// Ranks. -1: one for each visible GPU; without GPUs, or with backend "gloo", one for each core.
    int nprocs = -1;
    /// Physical ids of nprocs visible GPUs, "4,5". "": the first nprocs visible ones.
    std::string gpus = {};
    /// "auto", "nccl" or "gloo"; with "gloo" the ranks see no GPU.
    std::string backend = "auto";
    /// Wait until all ranks have ended.
    bool join = true;
    /// Where the output of the ranks is kept, a file for each. "": nowhere.
    std::string log_dir = {};
};

/// A rank failed: the first one to do so. The others were stopped.
class SpawnError : public Error {
  public:
    SpawnError(int rank, const std::string& message) : Error(message), rank_(rank) {}

    /// -1: no rank is to blame; they could not be started, say.
    int rank() const { return rank_; }

  private:
    int rank_;
};

/// True in a process that spawn() has started.
bool is_spawned_rank();

/// The ranks of one call of spawn(). Those that still run are stopped when it goes.
class SpawnedRanks {
  public:
    class State;

    explicit SpawnedRanks(std::shared_ptr<State> state) : state_(std::move(state)) {}

    int nprocs() const;

    /// Waits until all ranks have ended. @returns false when the time was over before; none: for ever
    /// @throws SpawnError of a rank that failed, at each call
    bool join(std::optional<std::chrono::milliseconds> timeout = std::nullopt);

  protected:
    /// What the function returned, by rank.
    const std::vector<std::string>& result_bytes();

  private:
    std::shared_ptr<State> state_;
};

template <class Result>
class Spawned : public SpawnedRanks {
  public:
    using SpawnedRanks::SpawnedRanks;

    /// What the function returned, by rank. Waits as join() does. @throws SpawnError
    std::vector<Result> results() {
        std::vector<Result> results;
        for (const auto& bytes : result_bytes()) {
            SpawnBytes rest(bytes);
            results.push_back(SpawnValue<Result>::read(rest));
        }
        return results;
    }
};

template <>
class Spawned<void> : public SpawnedRanks {
  public:
    using SpawnedRanks::SpawnedRanks;
};

namespace spawning {

/// What a function takes and returns, as values.
template <class Function>
struct Signature;

template <class Return, class... Parameters>
struct Signature<std::function<Return(Parameters...)>> {
    using Result = std::decay_t<Return>;
    using Arguments = std::tuple<std::decay_t<Parameters>...>;
};

template <class Train>
using SignatureOf = Signature<decltype(std::function{std::declval<std::decay_t<Train>>()})>;

/// Starts the ranks, or is one: then it exits with what `run` makes of the arguments.
/// @param run gets arguments, and returns a result
std::shared_ptr<SpawnedRanks::State> begin(const std::string& arguments, const SpawnOptions& options,
                                           const std::function<std::string(const std::string&)>& run);

}  // namespace spawning

/// Runs a function in several new processes, which are ranks of one job: ParallelEnv makes them so.
/// @param arguments as many as it has parameters; defaults of parameters do not count
/// @returns what it returned in each, and with options.join = false at once a handle on them
/// @throws UsageError before anything starts: options that cannot be; a call in a rank of a job, within the
/// function, or while a ParallelEnv or MpiSession lives (or MPI runs) in this process
/// @throws SpawnError when a rank throws (with its message), is killed or exits
template <class Train, class... Passed>
auto spawn(const Train& train, const std::tuple<Passed...>& arguments, const SpawnOptions& options = {}) {
    using Signature = spawning::SignatureOf<Train>;
    using Values = typename Signature::Arguments;
    using Result = typename Signature::Result;
    static_assert(
        sizeof...(Passed) == std::tuple_size_v<Values>,
        "dtrain::spawn: the function has another number of parameters than values were passed; pass "
        "one for each as std::tuple(...): defaults of parameters do not count");
    const auto run = [&train](const std::string& bytes) {
        SpawnBytes rest(bytes);
        auto values = SpawnValue<Values>::read(rest);
        std::string result;
        if constexpr (std::is_void_v<Result>)
            std::apply(train, std::move(values));
        else
            SpawnValue<Result>::write(std::apply(train, std::move(values)), result);
        return result;
    };
    std::string bytes;
    SpawnValue<Values>::write(Values(arguments), bytes);
    Spawned<Result> ranks(spawning::begin(bytes, options, run));
    if (options.join) ranks.join();
    return ranks;
}

template <class Train>
auto spawn(const Train& train, const SpawnOptions& options = {}) {
    return spawn(train, std::tuple(), options);
}

}  // namespace dtrain
