// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/cluster.hpp>

#include "launch/options/options.hpp"
#include "launch/plan/plan.hpp"

namespace dtrain::launch {

/// Where one rank of a parameter-server job runs, before its port is known.
struct MemberAddress {
    std::string host;
    std::optional<int> port;          ///< nothing: any free port of this machine
    bool own_choice = false;          ///< the user gave the port
    std::optional<std::size_t> node;  ///< index among the nodes joined at --master; nothing: see `host`
};

struct StageMembers {
    Device::Kind device = Device::Kind::gpu;
    std::vector<MemberAddress> members;
};

/// The members of a parameter-server job: given by Paddle's numbers (--server_num ... on this machine) or
/// lists.
struct ServerJobMembers {
    std::vector<MemberAddress> servers;
    std::vector<MemberAddress> workers;
    std::vector<StageMembers> stages;
    bool one_machine = false;  ///< all members are given by numbers
};

inline constexpr const char* this_machine = "127.0.0.1";

/// The hosts in --servers, --workers and --heter_workers, each once.
/// @throws UsageError for an invalid address
std::vector<std::string> hosts_of_lists(const Options& options);

struct NumberWithoutList {
    std::string option;  ///< "--worker_num 2"
    std::string list;    ///< the option that would list these members
};

/// The first option that gives a number of members without a list.
std::optional<NumberWithoutList> number_without_list(const Options& options);

/// Lists may omit ports. Such a member gets `first_port` plus its index in the whole job (servers, workers,
/// stages), which every node computes alike without communication; ports of other members on the same host
/// are skipped, and so is --http_port on the first server's host.
/// @throws UsageError for an invalid or repeated address, counts that do not match their lists, and stages
/// that do not match --heter_devices.
/// @param hosts hosts to which members given by numbers are assigned in turn
ServerJobMembers server_job_members(const Options& options, int first_port,
                                    const std::vector<std::string>& hosts = {this_machine});

/// The members of the nodes that joined at --master, node by node; several nodes may share one host. Each
/// gets `first_port` plus its index in the whole job, skipping taken ports as above.
ServerJobMembers joined_members(const Options& options, int first_port, const std::vector<JoinedNode>& nodes);

/// Servers, workers, then stage by stage: the order of the MPI ranks.
std::vector<MemberAddress*> in_rank_order(ServerJobMembers& members);

}  // namespace dtrain::launch
