// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "protocol/run_mode.hpp"
#include "protocol/torch_job.hpp"

namespace dtrain::cluster {

/// What the launchers of a job tell dtrain-worker about its rank, besides who it is (identify()), where the
/// others are (endpoints, write_server_job()) and what it has of its node (write_assignments()). Each
/// launcher writes the part that it knows.
struct RankContract {
    /// How commands for the worker arrive.
    enum class Control { signals, standard_input };

    // From the launcher of the job.
    std::optional<bool> sends_events;  ///< as lines for dtrain-launch, instead of sentences for people
    std::optional<bool> sends_output;  ///< the end of a failed program's log, for a launcher on another node
    std::optional<bool> shows_by_events;  ///< what of its output the launcher shows; not set: by its stdout
    std::optional<Control> control;       ///< not set: signals
    std::optional<bool> binds;            ///< to the assigned processors and memory; not set: true
    std::optional<RunMode> run_mode;
    std::optional<std::string> backend;  ///< for PADDLE_DISTRI_BACKEND
    std::optional<std::string> network_interface;
    std::optional<std::string> gloo_folder;
    std::optional<std::string> pod_name;
    std::optional<std::string> selected_gpus;  ///< of those that the node shows: "all", or positions "0,2"
    std::optional<std::string> visible_gpus;  ///< for the programs of each node, as join_node_fields() has it
    std::optional<std::string> working_folder;      ///< of nodes without a launcher of their own
    std::optional<std::string> mpiruns_variable;    ///< name of one that is not for programs
    std::optional<std::chrono::seconds> heartbeat;  ///< interval; 0: none

    std::optional<TorchJob> torch;  ///< of a job that dtrain-run started

    // From the launcher of the rank's own node, if the job has one on each.
    std::optional<std::vector<std::string>> node_program;  ///< the command of its ranks
    std::optional<std::string> node_working_folder;
    std::optional<std::string> node_log_folder;

    /// The part of `visible_gpus` for a node. @throws UsageError if it has none for it
    std::optional<std::string> visible_gpus_of(int node) const;

    /// Sets the variables of what is known; the others stay as they are.
    void write(Environment& environment) const;

    /// What launchers wrote. @throws UsageError naming the variable and a value that they do not write
    static RankContract read(const Environment& environment);

    friend bool operator==(const RankContract&, const RankContract&) = default;
};

}  // namespace dtrain::cluster
