// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/plan/plan.hpp"

/// The mpirun launch backend: turns a plan into a command line and an environment. Pure.
namespace dtrain::launch {

struct MpirunVersion {
    int major = 0;
    int minor = 0;
    friend bool operator==(const MpirunVersion&, const MpirunVersion&) = default;
};

/// Parses the output of `mpirun --version`; nothing if it is not Open MPI.
std::optional<MpirunVersion> parse_mpirun_version(std::string_view output);

/// Paths of dtrain's own programs.
struct LauncherPrograms {
    std::string worker;        ///< dtrain-worker
    std::string remote_shell;  ///< dtrain-rsh, which wraps a scheduler's remote shell
};

/// argv of the mpirun that runs `worker -- program` on every rank of the plan. MPMD: one part for each role
/// or, if the ranks of a role are not in node order, for each run of ranks on a node.
/// @param hostfile path of the written hostfile
/// @param carried names of variables to pass to the ranks of other nodes
std::vector<std::string> mpirun_command(const Plan& plan, const std::string& hostfile,
                                        const LauncherPrograms& programs, const Options& options,
                                        const std::vector<std::string>& carried);

/// The names of the nodes in mpirun: their hosts. If one host is several nodes, all but the first get a
/// stand-in address, so that mpirun takes them for other machines. So do IPv6 addresses, which mpirun 4.1
/// refuses as names. dtrain's remote shell maps the names back.
std::vector<std::string> mpirun_names(const Plan& plan);

/// The entries of mpirun's hostfile.
std::vector<cluster::HostSlots> mpirun_hosts(const Plan& plan);

}  // namespace dtrain::launch
