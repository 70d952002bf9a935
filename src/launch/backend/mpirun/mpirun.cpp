// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/mpirun/mpirun.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "launch/options/worker_options.hpp"
#include "protocol/rank_contract.hpp"
#include "topology/discover.hpp"

namespace dtrain::launch {
namespace {

/// Contiguous ranks: a part of an MPMD command line.
struct Part {
    std::string host;  ///< mpirun's name of the node, if needed; "": mpirun finds the nodes in the hostfile
    int ranks = 0;
};

/// mpirun's names of the nodes, by rank.
std::vector<std::string> names_of_ranks(const Plan& plan) {
    const auto names = mpirun_names(plan);
    std::vector<std::string> out;
    for (const int node : plan.nodes_of_ranks()) out.push_back(names[static_cast<std::size_t>(node)]);
    return out;
}

/// mpirun 4.1 finds not every node in a list by rank; Open MPI 5 as Debian 13 and Ubuntu 25 have it crashes
/// when there is more than one part (Open MPI's issue 13303).
bool takes_list_by_rank(MpirunVersion version) {
    return version.major >= 5;
}

std::vector<Part> parts_by_node(const Plan& plan) {
    std::vector<Part> parts;
    for (const auto& host : names_of_ranks(plan)) {
        if (parts.empty() || parts.back().host != host) parts.push_back({.host = host});
        ++parts.back().ranks;
    }
    return parts;
}

/// Parameters for a job on several nodes. The connections between mpirun and its daemons use TCP keepalive,
/// so that a dead node is noticed in seconds; Open MPI's own limits are 300 s and 180 s.
std::vector<std::string> links_between_nodes(const Plan& plan, const std::string& agent) {
    std::vector<std::pair<std::string, std::string>> parameters{
        {"oob_tcp_keepalive_time", "5"}, {"oob_tcp_keepalive_intvl", "2"}, {"oob_tcp_keepalive_probes", "3"}};
    if (plan.remote_shell.empty())
        parameters.insert(parameters.begin(), {"plm_rsh_args", "-o BatchMode=yes -o ConnectTimeout=10 --"});
    else  // a scheduler's remote shell works on the first node only, and lives as long as the daemon that it
          // starts
        parameters.insert(parameters.begin(),
                          {{"plm_rsh_agent", fmt::format("{} --by {}", agent, plan.remote_shell)},
                           {"plm_rsh_no_tree_spawn", "1"},
                           {"plm_rsh_num_concurrent", std::to_string(plan.nodes.size())}});
    std::vector<std::string> argv{"--leave-session-attached"};
    for (const auto& [name, value] : parameters) append(argv, {"--mca", name, value});
    return argv;
}

/// Whether MPI may choose between devices for a rank, by what is near.
bool chooses_devices(const topology::Machine& machine) {
    return !machine.is_this_system || machine.numa_nodes.size() > 1 || machine.adapters.size() > 1 ||
           !machine.gpus.empty();
}

/// A loopback address that stands for a node and needs no name lookup.
std::string stand_in(std::size_t node) {
    constexpr std::size_t last_numbers = 250;
    return fmt::format("127.1.{}.{}", node / last_numbers, 1 + node % last_numbers);
}

}  // namespace

std::optional<MpirunVersion> parse_mpirun_version(std::string_view output) {
    // "mpirun (Open MPI) 4.1.4"
    constexpr std::string_view marker = "(Open MPI) ";
    const auto at = output.find(marker);
    if (at == std::string_view::npos) return std::nullopt;
    const auto words = split(output.substr(at + marker.size()), '.');
    const auto major = parse_int(words[0]);
    const auto minor = words.size() > 1 ? parse_int(words[1]) : std::nullopt;
    if (!major || !minor) return std::nullopt;
    const auto patch = words.size() > 2 ? words[2].substr(0, words[2].find_first_not_of("0123456789")) : "";
    return MpirunVersion{*major, *minor, parse_int(patch).value_or(0)};
}

bool mixes_streams(MpirunVersion version) {
    constexpr int first_sound = 11;
    return version.major == 5 && version.minor == 0 && version.patch < first_sound;
}

std::vector<std::string> mpirun_names(const Plan& plan) {
    std::vector<std::string> names;
    std::set<std::string> known;
    for (const auto& node : plan.nodes) {
        const bool is_new = known.insert(node.host).second;
        const bool can_be_a_name = node.host.find(':') == std::string::npos;
        const bool is_own = plan.own_node == static_cast<int>(names.size());
        names.push_back(is_new && can_be_a_name ? node.host : is_own ? "127.0.0.1" : stand_in(names.size()));
    }
    return names;
}

Environment mpirun_variables(const Plan& plan, const topology::Machine& machine,
                             const Environment& environment) {
    Environment variables;
    if (plan.nodes.size() > 1) return variables;
    if (!environment.has("PRTE_MCA_ras")) variables.set("PRTE_MCA_ras", no_allocation_of_mpirun_5);
    if (!chooses_devices(machine) && !topology::speaks_to_hwloc(environment)) {
        constexpr const char* components = "HWLOC_COMPONENTS";
        variables.set(components, "-pci,-linuxio");
        cluster::RankContract{.mpiruns_variable = components}.write(variables);
    }
    return variables;
}

std::string mpirun_hostfile(const Plan& plan) {
    if (!plan.is_numbered_by_node()) return fmt::format("{}\n", fmt::join(names_of_ranks(plan), "\n"));
    std::vector<cluster::HostSlots> hosts;
    const auto names = mpirun_names(plan);
    for (const auto& node : plan.nodes)
        // mpirun starts "localhost" itself, without a remote shell.
        hosts.push_back({.host = plan.nodes.size() == 1 ? "localhost" : names[hosts.size()],
                         .slots = static_cast<int>(node.ranks.size())});
    return cluster::format_hostfile(hosts);
}

std::vector<std::string> mpirun_command(const Plan& plan, const std::string& hostfile,
                                        const LauncherPrograms& programs, const Options& options,
                                        const std::vector<std::string>& carried, MpirunVersion version) {
    const bool in_order = plan.is_numbered_by_node();
    const bool by_rank = !in_order && takes_list_by_rank(version);
    const auto parts =
        in_order || by_rank ? std::vector{Part{.host = "", .ranks = plan.size()}} : parts_by_node(plan);
    std::vector<std::string> argv{"mpirun",
                                  "--hostfile",
                                  hostfile,
                                  "--bind-to",
                                  "none",
                                  "--map-by",
                                  by_rank ? "seq:OVERSUBSCRIBE" : "slot:OVERSUBSCRIBE"};
    const bool several_nodes = plan.nodes.size() > 1;
    if (several_nodes) append(argv, links_between_nodes(plan, programs.remote_shell));
    const auto for_worker = worker_options(plan.log_dir, options);
    std::string separator;
    for (const auto& part : parts) {
        if (!separator.empty()) argv.push_back(separator);
        separator = ":";
        if (!part.host.empty()) append(argv, {"--host", fmt::format("{}:{}", part.host, part.ranks)});
        if (several_nodes) {
            // Not every node has node 0's folder: workers change into their own node's folder.
            append(argv, {"--wdir", plan.followed ? "/" : plan.working_dir});
            for (const auto& name : carried) append(argv, {"-x", name});
        }
        append(argv, {"-np", std::to_string(part.ranks), programs.worker});
        append(argv, for_worker);
        argv.emplace_back("--");
        append(argv, plan.program);
    }
    return argv;
}

}  // namespace dtrain::launch
