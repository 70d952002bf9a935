// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/plan/plan.hpp"

/// The mpirun launch backend: turns a plan into a command line and an environment. Pure.
namespace dtrain::launch {

struct MpirunVersion {
    int major = 0;
    int minor = 0;
    int patch = 0;
    friend bool operator==(const MpirunVersion&, const MpirunVersion&) = default;
};

/// Parses the output of `mpirun --version`; nothing if it is not Open MPI.
std::optional<MpirunVersion> parse_mpirun_version(std::string_view output);

/// Whether this mpirun holds back what a rank writes without the end of a line, and puts it in front of what
/// the rank writes next, on whichever stream: 5.0 does until 5.0.10. Tried: 5.0.7 to 5.0.11.
bool mixes_streams(MpirunVersion version);

/// Paths of dtrain's own programs.
struct LauncherPrograms {
    std::string worker;        ///< dtrain-worker
    std::string remote_shell;  ///< dtrain-rsh, which wraps a scheduler's remote shell
};

/// argv of the mpirun that runs `worker -- program` on every rank of the plan. If ranks are not numbered node
/// by node: for Open MPI 4.1 MPMD, one part for each run of ranks on a node.
/// @param hostfile path of the written mpirun_hostfile()
/// @param carried names of variables to pass to the ranks of other nodes
std::vector<std::string> mpirun_command(const Plan& plan, const std::string& hostfile,
                                        const LauncherPrograms& programs, const Options& options,
                                        const std::vector<std::string>& carried, MpirunVersion version);

/// The names of the nodes in mpirun: their hosts. If one host is several nodes, all but the first get a
/// stand-in address, so that mpirun takes them for other machines. So do IPv6 addresses, which mpirun 4.1
/// refuses as names. dtrain's remote shell maps the names back.
std::vector<std::string> mpirun_names(const Plan& plan);

/// The components that take an allocation's nodes for mpirun 5.0's; without them it has those of its
/// hostfile.
inline constexpr const char* no_allocation_of_mpirun_5 = "^slurm,pbs,gridengine,lsf,flux";

/// Variables for mpirun, for a job on one node; without those that `environment` sets already.
/// Its hostfile says "localhost": inside of an allocation mpirun 5.0 would say that localhost is none of its
/// nodes. And where no rank has a choice between devices, hwloc leaves out the PCI bus, reading which is a
/// third of mpirun's time in a virtual machine; programs do not get that variable.
Environment mpirun_variables(const Plan& plan, const topology::Machine& machine,
                             const Environment& environment);

/// Content of mpirun's hostfile: nodes with their slots; or, if ranks are not numbered node by node, the
/// node of each rank.
std::string mpirun_hostfile(const Plan& plan);

}  // namespace dtrain::launch
