// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/scheduler.hpp"

/// The schedulers that dtrain knows.
namespace dtrain::scheduler {

/// In the order in which they are asked.
const std::vector<const Scheduler*>& schedulers();

/// Adds one behind those of dtrain, for the rest of the process. Not thread-safe: call it before anything
/// else.
/// @param scheduler must outlive all uses
void add(const Scheduler& scheduler);

/// Null if there is none of this name.
const Scheduler* find(std::string_view name);

/// "auto", then the names of all.
std::vector<std::string_view> choices();

/// The scheduler whose job this process is part of; null outside of jobs.
const Scheduler* of_this_job(const Environment& environment);

/// The job's nodes in the order of ranks, if a scheduler tells them; see Scheduler::hosts_of_ranks().
std::optional<std::vector<cluster::HostSlots>> hosts_of_ranks(const Environment& environment,
                                                              const ReadFile& read_file);

struct Choice {
    const Scheduler* scheduler;
    std::string notice;  ///< for a user who may have meant another scheduler; "" if there is only one
};

/// Whose queue gets a job. Pure.
/// @param asked value of --scheduler
/// @param present those whose program for submitting is in PATH
Choice choose(const std::string& asked, const std::vector<const Scheduler*>& present);

/// Those whose program for submitting is in PATH.
std::vector<const Scheduler*> present(const Environment& environment);

/// The jobs in `numbers` that this scheduler's queue knows; nothing if there is no such scheduler, or it
/// cannot be queried here.
std::optional<std::vector<QueuedJob>> ask_queue(std::string_view scheduler,
                                                const std::vector<std::string>& numbers,
                                                const Environment& environment);

}  // namespace dtrain::scheduler
