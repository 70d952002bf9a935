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

/// A plain program that starts its own ranks; corresponds to Paddle's paddle.distributed.spawn.
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
/// spawn(), which then calls the function and exits. So code before the call also runs in every rank, and
/// code after it does not. Earlier calls of spawn() return in the ranks what they returned in the parent
/// process, or throw what they threw there. The function receives the argument values of the parent process,
/// whatever main() computes for them in the rank; what a lambda captures is computed by main() in the rank.
namespace dtrain {

/// How many ranks are started, and on which devices.
struct SpawnOptions {
    /// Number of ranks. -1: one for each visible GPU; without GPUs, or with backend "gloo", one for each
    /// core.
    int nprocs = -1;
    /// Physical ids of nprocs visible GPUs, "4,5". "": the first nprocs visible ones.
    std::string gpus = {};
    /// "auto", "nccl" or "gloo"; with "gloo" no GPU is visible to the ranks.
    std::string backend = "auto";
    /// Wait until all ranks have ended.
    bool join = true;
    /// Folder for the output of the ranks, one file per rank. "": not stored.
    std::string log_dir = {};
};

/// A rank failed: the first one to do so. The others were stopped.
class SpawnError : public Error {
  public:
    /// @param rank see rank()
    SpawnError(int rank, const std::string& message) : Error(message), rank_(rank) {}

    /// -1: the failure is not that of a rank; for example, the ranks could not be started.
    int rank() const { return rank_; }

  private:
    int rank_;
};

/// True in a process that was started by spawn().
bool is_spawned_rank();

/// The ranks of one call of spawn(). The destructor stops those that are still running.
class SpawnedRanks {
  public:
    class State;

    /// For the library's own use.
    explicit SpawnedRanks(std::shared_ptr<State> state) : state_(std::move(state)) {}

    /// Number of ranks.
    int nprocs() const;

    /// Waits until all ranks have ended. @returns false if the timeout expired first; none: no timeout
    /// @throws SpawnError of a rank that failed, at each call
    bool join(std::optional<std::chrono::milliseconds> timeout = std::nullopt);

  protected:
    /// The results of the function as bytes, by rank.
    const std::vector<std::string>& result_bytes();

  private:
    std::shared_ptr<State> state_;
};

/// SpawnedRanks of a function that returns a value.
template <class Result>
class Spawned : public SpawnedRanks {
  public:
    /// For the library's own use.
    using SpawnedRanks::SpawnedRanks;

    /// The results of the function, by rank. Waits as join() does. @throws SpawnError
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
    /// For the library's own use.
    using SpawnedRanks::SpawnedRanks;
};

namespace spawning {

/// Parameter and result types of a function, as values.
template <class Function>
struct Signature;

/// Of a std::function.
template <class Return, class... Parameters>
struct Signature<std::function<Return(Parameters...)>> {
    /// the result type without references
    using Result = std::decay_t<Return>;
    /// the parameter types without references
    using Arguments = std::tuple<std::decay_t<Parameters>...>;
};

template <class Train>
using SignatureOf = Signature<decltype(std::function{std::declval<std::decay_t<Train>>()})>;

/// Starts the ranks. In a process that is such a rank: calls `run` with the arguments and exits.
/// @param run takes arguments and returns a result, as bytes
std::shared_ptr<SpawnedRanks::State> begin(const std::string& arguments, const SpawnOptions& options,
                                           const std::function<std::string(const std::string&)>& run);

}  // namespace spawning

/// Runs a function in several new processes, which are the ranks of one job: the function creates a
/// ParallelEnv.
/// @param arguments one for each parameter; default arguments do not count
/// @returns the result of each rank; with options.join = false returns a handle at once
/// @throws UsageError before anything starts: invalid options; a call in a rank of a job, within the
/// function, or while a ParallelEnv or MpiSession exists (or MPI runs) in this process
/// @throws SpawnError if a rank throws (with its message), is killed or exits
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

/// Runs a function without parameters.
template <class Train>
auto spawn(const Train& train, const SpawnOptions& options = {}) {
    return spawn(train, std::tuple(), options);
}

}  // namespace dtrain
