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

/// For nodes that the options name: the port is --link-port or follows from the job's name and node 0 alone,
/// since launchers whose lists or GPUs differ must find each other to say so. Pure.
RendezvousPoint rendezvous_of(const Options& options, const std::vector<std::string>& hosts);

/// How many nodes meet at --master, none of them named; 0 when the options say otherwise. Pure.
/// @throws UsageError when --nnodes is no number
int nodes_at_master(const Options& options);

/// The rendezvous at --master. Pure.
/// @throws UsageError when that is no ip:port
RendezvousPoint rendezvous_at_master(const Options& options);

/// Whether this launcher may be the one that the others connect to at --master: --rank, else the address
/// tells. Pure.
/// @throws UsageError when node 0 is to be on another machine than --master
bool may_be_coordinator(const Options& options, const RendezvousPoint& rendezvous,
                        const std::set<std::string>& own_addresses);

/// @throws UsageError saying who has the port, and what to do
[[noreturn]] void refuse_port(const RendezvousPoint& rendezvous, int error);

}  // namespace dtrain::launch
