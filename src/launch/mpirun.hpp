// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/plan.hpp"

/// The mpirun back end: a plan as a command line and an environment. Pure.
namespace dtrain::launch {

struct MpirunVersion {
    int major = 0;
    int minor = 0;
    friend bool operator==(const MpirunVersion&, const MpirunVersion&) = default;
};

/// Reads what `mpirun --version` printed; nothing when that is no Open MPI.
std::optional<MpirunVersion> parse_mpirun_version(std::string_view output);

/// Paths of dtrain's own programs.
struct LauncherPrograms {
    std::string worker;        ///< dtrain-worker
    std::string remote_shell;  ///< dtrain-rsh, for the remote shell of a scheduler
};

/// argv of the mpirun that runs `worker -- program` on every rank of the plan; one part for each role, and
/// where the ranks of a role are not in the order of the nodes one for each run of ranks on a node (MPMD).
/// @param hostfile path of the written hostfile
/// @param carried names of variables for the ranks of other nodes
std::vector<std::string> mpirun_command(const Plan& plan, const std::string& hostfile,
                                        const LauncherPrograms& programs, const Options& options,
                                        const std::vector<std::string>& carried);

/// What mpirun calls the nodes: their hosts. Where one host is several nodes, all but the first get an
/// address of their own, so that mpirun takes them for other machines; so do IPv6 addresses, which mpirun 4.1
/// refuses as names. Its remote shell knows who is meant.
std::vector<std::string> mpirun_names(const Plan& plan);

/// The lines of that hostfile.
std::vector<cluster::HostSlots> mpirun_hosts(const Plan& plan);

/// What the launcher adds to the environment that mpirun and the workers get.
/// @param token a secret of this job that finds its processes again
Environment worker_environment(const Plan& plan, const Options& options, const std::string& token,
                               bool as_root);

}  // namespace dtrain::launch
