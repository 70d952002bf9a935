// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/cpuset.hpp>

#include "launch/check/check_issue.hpp"
#include "launch/check/check_messages.hpp"

/// Diagnoses the nodes of a job from their info. Pure.
namespace dtrain::launch {

/// A node as --check found it.
struct CheckedNode {
    std::string host;
    std::string way;          ///< how it was reached: "here", "launcher", "ssh", "srun", "pbs_tmrsh"
    std::string log_dir;      ///< of its ranks, which it was asked about
    std::string working_dir;  ///< likewise
    std::optional<Issue> issue;
    std::optional<NodeInfo> info;
    std::vector<ProbeResult> probes;  ///< its connections to others
};

/// What the job needs of its nodes.
struct CheckWants {
    bool mpirun = true;  ///< mpirun's daemons are started on the nodes
    int ranks_of_node = 1;
};

enum class Severity { fault, warning };

/// A fault or warning about one or several nodes.
struct Finding {
    Severity severity = Severity::fault;
    CpuSet nodes;  ///< node numbers
    std::string text;
    std::string remedy;
    friend bool operator==(const Finding&, const Finding&) = default;
};

/// All findings, faults first; the same problem on several nodes is one finding. If nodes must be alike, the
/// most frequent value is taken to be right.
std::vector<Finding> diagnose(const std::vector<CheckedNode>& nodes, const CheckWants& wants);

/// How far each node's clock is ahead of the median clock, in microseconds; nothing for nodes whose clock
/// could not be compared.
std::vector<std::optional<std::int64_t>> clocks_ahead(const std::vector<CheckedNode>& nodes);

}  // namespace dtrain::launch
