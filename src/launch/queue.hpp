// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

/// What Slurm or PBS says of jobs in its queue.
namespace dtrain::launch {

struct QueuedJob {
    enum class State { pending, running, ended };

    std::string number;
    State state = State::pending;
    std::string why;   ///< it is pending; "" when the scheduler does not say
    std::string host;  ///< where its script runs; "" when it does not
    friend bool operator==(const QueuedJob&, const QueuedJob&) = default;
};

/// The words whose output parse_squeue() and parse_qstat() read.
std::vector<std::string> squeue_command();
std::vector<std::string> qstat_command(const std::vector<std::string>& numbers);

/// Pure.
std::vector<QueuedJob> parse_squeue(std::string_view output);
std::vector<QueuedJob> parse_qstat(std::string_view output);

/// The jobs out of `numbers` that the scheduler ("slurm", "pbs") knows; nothing when it cannot be asked.
std::optional<std::vector<QueuedJob>> ask_queue(const std::string& scheduler,
                                                const std::vector<std::string>& numbers,
                                                const Environment& environment);

/// The command that takes a job out of the queue or ends it.
/// @param gently its script gets SIGTERM, where the scheduler can do that
std::vector<std::string> cancel_command(const std::string& scheduler, const std::string& number, bool gently);

}  // namespace dtrain::launch
