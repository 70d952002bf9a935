// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <dtrain/cluster.hpp>

#include "cluster/allocation.hpp"
#include "launch/options.hpp"

namespace dtrain::launch {

/// The names in `hosts` that lead to this machine, and all that it has itself. They are looked up only where
/// none of them is known already.
std::set<std::string> own_names(
    std::set<std::string> own_addresses, const std::vector<std::string>& hosts,
    const std::function<std::vector<std::string>(const std::string&)>& addresses_of);

/// The hosts of --ips, or of the hostfile; what is wrong with them is said elsewhere. Pure.
std::vector<std::string> hosts_named(const Options& options, const std::vector<cluster::HostSlots>& hostfile);

/// The nodes of a collective job.
struct Nodes {
    std::vector<std::string> hosts;  ///< in node rank order
    std::optional<int> own;          ///< which of them this machine is; nothing when none
    std::vector<std::string> notices;
};

/// The nodes that the options name: PaddleCloud's, --hostfile's or --ips', in that order.
/// @param own_addresses all names and addresses of this machine
/// @throws UsageError for an empty, repeated or loopback address among several, or options that contradict
/// each other.
Nodes nodes_of(const Options& options, const std::optional<cluster::PaddleCloud>& cloud,
               const std::vector<cluster::HostSlots>& hostfile, const std::set<std::string>& own_addresses);

/// The nodes that Slurm gave to the job.
/// @throws UsageError when --nnodes asks for another number
Nodes nodes_of(const Options& options, const cluster::Allocation& allocation,
               const std::set<std::string>& own_addresses);

/// Whether the job runs on the allocation's nodes: no option or variable names others.
bool uses_allocation(const Options& options, const Environment& environment,
                     const cluster::Allocation& allocation);

/// What to say where srun started several launchers, each of which would run the whole job by itself; the
/// first of them says it.
std::optional<std::string> lone_launchers_warning(const Options& options, const Environment& environment);

/// What to say in a heterogeneous job of Slurm, of which only the component with this script is used.
std::optional<std::string> other_components_warning(const Environment& environment);

/// 127.0.0.1 and the like: always this machine.
bool is_loopback(const std::string& host);

}  // namespace dtrain::launch
