// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "launch/options.hpp"

namespace dtrain::launch {

/// Where the launchers of a job's nodes meet.
struct RendezvousPoint {
    std::string coordinator;  ///< node 0's address
    int port = 0;
    friend bool operator==(const RendezvousPoint&, const RendezvousPoint&) = default;
};

/// For nodes named by the options: the port is --link-port, or depends only on the job's name and node 0,
/// because launchers whose lists or GPUs differ must find each other to report that. Pure.
RendezvousPoint rendezvous_of(const Options& options, const std::vector<std::string>& hosts);

/// The number of nodes that meet at --master without being named; 0 if the options say otherwise. Pure.
/// @throws UsageError if --nnodes is not a number
int nodes_at_master(const Options& options);

/// The rendezvous at --master. Pure.
/// @throws UsageError if it is not an ip:port
RendezvousPoint rendezvous_at_master(const Options& options);

/// Whether this launcher may be the coordinator to which the others connect at --master, according to --rank
/// or else its address. Pure.
/// @throws UsageError if node 0 is not on the machine of --master
bool may_be_coordinator(const Options& options, const RendezvousPoint& rendezvous,
                        const std::set<std::string>& own_addresses);

/// @throws UsageError naming who has the port, and the remedy
[[noreturn]] void refuse_port(const RendezvousPoint& rendezvous, int error);

}  // namespace dtrain::launch
