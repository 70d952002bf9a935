// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

/// Queries the queue of Slurm or PBS.
namespace dtrain::launch {

struct QueuedJob {
    enum class State { pending, running, ended };

    std::string number;
    State state = State::pending;
    std::string why;   ///< why it is pending; "" if the scheduler does not tell
    std::string host;  ///< where its script runs; "" if it does not run
    friend bool operator==(const QueuedJob&, const QueuedJob&) = default;
};

/// The commands whose output parse_squeue() and parse_qstat() read.
std::vector<std::string> squeue_command();
std::vector<std::string> qstat_command(const std::vector<std::string>& numbers);

/// Pure.
std::vector<QueuedJob> parse_squeue(std::string_view output);
std::vector<QueuedJob> parse_qstat(std::string_view output);

/// The jobs in `numbers` that the scheduler ("slurm", "pbs") knows; nothing if it cannot be queried.
std::optional<std::vector<QueuedJob>> ask_queue(const std::string& scheduler,
                                                const std::vector<std::string>& numbers,
                                                const Environment& environment);

/// The command that removes a job from the queue or ends it.
/// @param gently send its script SIGTERM, if the scheduler can do that
std::vector<std::string> cancel_command(const std::string& scheduler, const std::string& number, bool gently);

}  // namespace dtrain::launch
