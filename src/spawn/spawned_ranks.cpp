// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "spawn/spawned_ranks.hpp"

#include <csignal>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.hpp"
#include "spawn/diagnose_outcome.hpp"

namespace dtrain {

SpawnedRanks::State::State(int nprocs, std::unique_ptr<TemporaryFolder> folder, ProcessOptions launcher)
    : nprocs_(nprocs), folder_(std::move(folder)) {
    std::promise<Outcome> promise;
    outcome_ = promise.get_future().share();
    // One thread for the launcher's whole lifetime, since the launcher is killed when the thread that created
    // it ends.
    watcher_ = std::jthread([this, launcher = std::move(launcher),
                             promise = std::move(promise)](const std::stop_token& stop) mutable {
        try {
            promise.set_value(watch(stop, launcher));
        } catch (const std::exception& failed) {
            promise.set_value(spawning::Failure{-1, fmt::format("spawn: {}", failed.what())});
        }
    });
}

SpawnedRanks::State::State(int nprocs, std::optional<Outcome> outcome) : nprocs_(nprocs) {
    std::promise<Outcome> promise;
    outcome_ = promise.get_future().share();
    if (outcome)
        promise.set_value(*std::move(outcome));
    else
        promise.set_exception(std::make_exception_ptr(
            UsageError("the ranks of an earlier spawn() cannot be joined in a rank that was started before "
                       "they had ended")));
}

SpawnedRanks::State::Outcome SpawnedRanks::State::watch(const std::stop_token& stop,
                                                        const ProcessOptions& options) const {
    constexpr std::chrono::milliseconds poll_interval{5};
    Subprocess launcher(options);
    bool is_reported = false;
    while (!launcher.poll()) {
        if (stop.stop_requested() && !std::exchange(is_reported, true)) launcher.send(SIGTERM);
        std::this_thread::sleep_for(poll_interval);
    }
    const spawning::SpawnFolder folder(folder_->path());
    const auto status = launcher.wait().shell_status();
    if (status == 0) write_all(STDERR_FILENO, read_file(folder.messages()).value_or(""));
    return spawning::diagnose(status, nprocs_, folder);
}

std::optional<SpawnedRanks::State::Outcome> SpawnedRanks::State::wait(
    std::optional<std::chrono::milliseconds> timeout) const {
    if (timeout && outcome_.wait_for(*timeout) != std::future_status::ready) return std::nullopt;
    return outcome_.get();
}

int SpawnedRanks::nprocs() const {
    return state_->nprocs();
}

bool SpawnedRanks::join(std::optional<std::chrono::milliseconds> timeout) {
    const auto outcome = state_->wait(timeout);
    if (!outcome) return false;
    if (const auto* failure = std::get_if<spawning::Failure>(&*outcome))
        throw SpawnError(failure->rank, failure->message);
    return true;
}

const std::vector<std::string>& SpawnedRanks::result_bytes() {
    join();
    return std::get<spawning::Results>(state_->outcome().get());
}

}  // namespace dtrain
