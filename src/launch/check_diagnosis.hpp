// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/cpuset.hpp>

#include "launch/check_issue.hpp"
#include "launch/check_messages.hpp"

/// What is wrong with the nodes of a job, from what they told. Pure.
namespace dtrain::launch {

/// A node as the check found it.
struct CheckedNode {
    std::string host;
    std::string way;  ///< how it was reached: "here", "launcher", "ssh", "srun", "pbs_tmrsh"
    std::optional<Issue> issue;
    std::optional<NodeInfo> info;
    std::vector<ProbeResult> probes;  ///< its connections to others
};

/// What the job would want of its nodes.
struct CheckWants {
    bool mpirun = true;  ///< its daemons are started on the nodes
    int ranks_of_node = 1;
    std::string log_dir;
    std::string working_dir;
};

enum class Severity { fault, warning };

/// Something that is wrong with one or several nodes.
struct Finding {
    Severity severity = Severity::fault;
    CpuSet nodes;  ///< their numbers
    std::string text;
    std::string remedy;
    friend bool operator==(const Finding&, const Finding&) = default;
};

/// Everything that is wrong, faults first; what is wrong with several nodes is one finding. Where nodes must
/// be alike, most of them are taken to be right.
std::vector<Finding> diagnose(const std::vector<CheckedNode>& nodes, const CheckWants& wants);

/// How far each node's clock is ahead of the median one, in microseconds; nothing for nodes whose clock could
/// not be compared.
std::vector<std::optional<std::int64_t>> clocks_ahead(const std::vector<CheckedNode>& nodes);

}  // namespace dtrain::launch
