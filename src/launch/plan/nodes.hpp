// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <dtrain/cluster.hpp>

#include "identity/paddle_cloud.hpp"
#include "launch/options/options.hpp"
#include "scheduler/allocation.hpp"

namespace dtrain::launch {

/// The names in `hosts` that resolve to this machine, and its own addresses. Names are looked up only if none
/// of them is known already.
std::set<std::string> own_names(
    std::set<std::string> own_addresses, const std::vector<std::string>& hosts,
    const std::function<std::vector<std::string>(const std::string&)>& addresses_of);

/// The hosts of --ips, or of the hostfile, without validation. Pure.
std::vector<std::string> hosts_named(const Options& options, const std::vector<cluster::HostSlots>& hostfile);

/// The nodes of a collective job.
struct Nodes {
    std::vector<std::string> hosts;  ///< in node rank order
    std::optional<int> own;          ///< index of this machine among them; nothing if it is not one of them
    std::vector<std::string> notices;
};

/// The nodes that the options name: those of PaddleCloud, --hostfile or --ips, in that order.
/// @param own_addresses all names and addresses of this machine
/// @throws UsageError for an empty or repeated address, a loopback address among several, or contradicting
/// options.
Nodes nodes_of(const Options& options, const std::optional<cluster::PaddleCloud>& cloud,
               const std::vector<cluster::HostSlots>& hostfile, const std::set<std::string>& own_addresses);

/// The nodes that a scheduler allocated to the job.
/// @throws UsageError if --nnodes asks for another number
Nodes nodes_of(const Options& options, const scheduler::Allocation& allocation,
               const std::set<std::string>& own_addresses);

/// Whether the job runs on the allocation's nodes: no option or variable names others.
bool uses_allocation(const Options& options, const Environment& environment,
                     const scheduler::Allocation& allocation);

/// Warning for several launchers started by a scheduler's launcher (srun), each of which would run the whole
/// job by itself; only the first one prints it.
std::optional<std::string> lone_launchers_warning(const Options& options, const Environment& environment);

/// 127.0.0.1 and the like: always this machine.
bool is_loopback(const std::string& host);

}  // namespace dtrain::launch
