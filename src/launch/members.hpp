// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/cluster.hpp>

#include "launch/options.hpp"
#include "launch/plan.hpp"

namespace dtrain::launch {

/// Where one rank of a parameter-server job runs, before ports are known.
struct MemberPlace {
    std::string host;
    std::optional<int> port;          ///< nothing: any free one of this machine
    bool own_choice = false;          ///< the user wrote the port
    std::optional<std::size_t> node;  ///< of those that joined at --master; nothing: the host tells
};

struct StagePlaces {
    std::string device;
    std::vector<MemberPlace> members;
};

/// Who is in a parameter-server job: the documents' numbers (--server_num ... on this machine) or lists.
struct ServerJobPlaces {
    std::vector<MemberPlace> servers;
    std::vector<MemberPlace> workers;
    std::vector<StagePlaces> stages;
    bool one_machine = false;  ///< made of numbers only
};

inline constexpr const char* this_machine = "127.0.0.1";

/// The hosts that --servers, --workers and --heter_workers name, each once.
/// @throws UsageError for an address that is none
std::vector<std::string> hosts_of_lists(const Options& options);

struct NumberWithoutList {
    std::string option;  ///< "--worker_num 2"
    std::string list;    ///< the option that names them
};

/// The first of the numbers of members that no list names.
std::optional<NumberWithoutList> number_without_list(const Options& options);

/// Lists may leave ports out: such a member gets `first_port` + its place in the whole job (servers, workers,
/// stages), which every node computes alike without talking; ports that somebody else on the host has are
/// skipped, and so is --http_port on the first server's host.
/// @throws UsageError for an address that is none or twice in the job, counts that do not fit their lists,
/// and stages that do not fit --heter_devices.
/// @param hosts where the members of numbers go in turn
ServerJobPlaces server_job_places(const Options& options, int first_port,
                                  const std::vector<std::string>& hosts = {this_machine});

/// Those of the nodes that joined at --master, node by node, which may be one host: each has `first_port` +
/// its place in the whole job, but for ports that are taken as above.
ServerJobPlaces joined_places(const Options& options, int first_port, const std::vector<JoinedNode>& nodes);

/// Servers, workers, then stage by stage: the order of MPI's ranks.
std::vector<MemberPlace*> in_rank_order(ServerJobPlaces& places);

}  // namespace dtrain::launch
