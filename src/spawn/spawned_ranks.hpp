// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <memory>
#include <thread>

#include <dtrain/spawn.hpp>

#include "base/subprocess.hpp"
#include "base/temporary_folder.hpp"
#include "spawn/outcome.hpp"

namespace dtrain {

/// A call of spawn(): running, or its outcome known from the process that started this one.
class SpawnedRanks::State {
  public:
    using Outcome = spawning::Outcome;

    /// Starts the launcher.
    State(int nprocs, std::unique_ptr<TemporaryFolder> folder, ProcessOptions launcher);

    /// An earlier call, in a rank of a later one.
    /// @param outcome none: it cannot be joined here
    State(int nprocs, std::optional<Outcome> outcome);

    int nprocs() const { return nprocs_; }
    /// By which its ranks communicate with it; "" of an earlier call.
    std::string folder() const { return folder_ ? folder_->path() : std::string(); }

    /// Nothing if it timed out.
    std::optional<Outcome> wait(std::optional<std::chrono::milliseconds> timeout) const;

    /// How the ranks ended, if they have.
    std::shared_future<Outcome> outcome() const { return outcome_; }

  private:
    Outcome watch(const std::stop_token& stop, const ProcessOptions& launcher) const;

    int nprocs_;
    std::unique_ptr<TemporaryFolder> folder_;
    std::shared_future<Outcome> outcome_;
    std::jthread watcher_;  // its destructor stops the ranks
};

}  // namespace dtrain
