// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/mpirun.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cluster/address.hpp"
#include "cluster/endpoint_list.hpp"
#include "cluster/long_value.hpp"
#include "cluster/node_fields.hpp"
#include "cluster/server_environment.hpp"
#include "launch/worker_options.hpp"

namespace dtrain::launch {
namespace {

/// Contiguous ranks: a part of an MPMD command line.
struct Part {
    cluster::Role role = cluster::Role::trainer;
    std::string host;  ///< mpirun's name of the node, if needed; "": mpirun fills the nodes in order
    int ranks = 0;
};

bool numbered_node_by_node(const Plan& plan) {
    const auto nodes = plan.nodes_of_ranks();
    return std::is_sorted(nodes.begin(), nodes.end());
}

std::vector<Part> parts_of(const Plan& plan) {
    const auto nodes = plan.nodes_of_ranks();
    const bool report_hosts = !numbered_node_by_node(plan);
    const auto names = mpirun_names(plan);
    std::vector<Part> parts;
    for (const auto* rank : plan.ranks()) {
        const auto host = report_hosts
                              ? names[static_cast<std::size_t>(nodes[static_cast<std::size_t>(rank->rank)])]
                              : std::string();
        if (parts.empty() || parts.back().role != rank->role || parts.back().host != host)
            parts.push_back({.role = rank->role, .host = host});
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

/// Variables whose values are known only after a machine has been inspected.
constexpr std::array<const char*, 6> of_known_machines{"DTRAIN_CPUS",   "DTRAIN_NUMA",    "DTRAIN_THREADS",
                                                       "DTRAIN_SHARED", "DTRAIN_ADAPTER", "DTRAIN_VISIBLE"};

void let_nodes_place_themselves(Environment& out, const Plan& plan) {
    for (const char* name : of_known_machines) out.unset(name);
    if (plan.narrow && plan.gpus_of_node > 0)
        out.set("DTRAIN_SELECT", plan.selected_positions.empty()
                                     ? "all"
                                     : fmt::format("{}", fmt::join(plan.selected_positions, ",")));
}

/// "a:8,b:8".
std::string hosts_with_slots(const Plan& plan) {
    std::vector<std::string> out;
    for (const auto& node : plan.nodes)
        out.push_back(plan.nodes.size() == 1
                          ? node.host
                          : cluster::format_address(node.host, static_cast<int>(node.ranks.size())));
    return join(out, ",");
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
    return MpirunVersion{*major, *minor};
}

std::vector<std::string> mpirun_names(const Plan& plan) {
    std::vector<std::string> names;
    std::set<std::string> known;
    for (const auto& node : plan.nodes) {
        const bool is_new = known.insert(node.host).second;
        const bool can_be_a_name = node.host.find(':') == std::string::npos;
        const bool here = plan.own_node == static_cast<int>(names.size());
        names.push_back(is_new && can_be_a_name ? node.host : here ? "127.0.0.1" : stand_in(names.size()));
    }
    return names;
}

std::vector<cluster::HostSlots> mpirun_hosts(const Plan& plan) {
    std::vector<cluster::HostSlots> hosts;
    const auto names = mpirun_names(plan);
    for (const auto& node : plan.nodes)
        // mpirun starts "localhost" itself, without a remote shell.
        hosts.push_back({.host = plan.nodes.size() == 1 ? "localhost" : names[hosts.size()],
                         .slots = static_cast<int>(node.ranks.size())});
    return hosts;
}

std::vector<std::string> mpirun_command(const Plan& plan, const std::string& hostfile,
                                        const LauncherPrograms& programs, const Options& options,
                                        const std::vector<std::string>& carried) {
    std::vector<std::string> argv{"mpirun",   "--hostfile",        hostfile, "--bind-to", "none",
                                  "--map-by", "slot:OVERSUBSCRIBE"};
    const bool several_nodes = plan.nodes.size() > 1;
    if (several_nodes) append(argv, links_between_nodes(plan, programs.remote_shell));
    const auto for_worker = worker_options(plan.log_dir, options);
    std::string separator;
    for (const auto& part : parts_of(plan)) {
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
        if (plan.servers) append(argv, {"--role", cluster::to_string(part.role)});
        argv.emplace_back("--");
        append(argv, plan.program);
    }
    return argv;
}

Environment worker_environment(const Plan& plan, const Options& options, const std::string& token,
                               bool as_root) {
    Environment out;
    out.set("DTRAIN_EVENTS", "1");
    if (plan.nodes.size() > 1) out.set("DTRAIN_TELL_OUTPUT", "1");
    if (plan.followed) out.set("DTRAIN_WORKING_DIR", plan.working_dir);
    out.set("DTRAIN_JOB_ID", plan.job_id + "." + token.substr(0, 8));
    out.set("DTRAIN_JOB_TOKEN", token);
    out.set("DTRAIN_BIND", plan.bind ? "apply" : "none");
    out.set("DTRAIN_RUN_MODE", to_string(plan.mode));
    if (plan.servers)
        cluster::write_server_job(out, *plan.servers);
    else
        cluster::set_long(out, "DTRAIN_ENDPOINTS", cluster::endpoint_list(plan.endpoints.trainers));
    if (options.backend != "auto") out.set("DTRAIN_BACKEND", options.backend);
    if (options.network_interface) out.set("DTRAIN_NETWORK_INTERFACE", *options.network_interface);
    if (options.with_gloo) out.set("PADDLE_WITH_GLOO", std::to_string(*options.with_gloo));
    out.set("DTRAIN_MASTER", plan.endpoints.paddle_master);
    out.set("DTRAIN_TORCH_MASTER",
            cluster::format_address(plan.endpoints.master_addr, plan.endpoints.master_port));
    cluster::set_long(out, "DTRAIN_HOSTS", hosts_with_slots(plan));
    if (!numbered_node_by_node(plan)) {
        std::vector<std::string> nodes;
        for (const int node : plan.nodes_of_ranks()) nodes.push_back(std::to_string(node));
        cluster::set_long(out, "DTRAIN_NODES_OF_RANKS", cluster::join_node_fields(nodes));
    }
    std::vector<std::string> visible;
    std::vector<std::vector<cluster::RankAssignment>> assignments;
    for (const auto& node : plan.nodes) {
        visible.push_back(node.cuda_visible_devices);
        assignments.emplace_back();
        for (const auto& rank : node.ranks) assignments.back().push_back(rank.assignment);
    }
    const bool any_visible =
        std::any_of(visible.begin(), visible.end(), [](const auto& gpus) { return !gpus.empty(); });
    if (plan.narrow && any_visible) out.set("DTRAIN_VISIBLE", cluster::join_node_fields(visible));
    cluster::write_assignments(out, assignments);
    if (plan.nodes_place_themselves) let_nodes_place_themselves(out, plan);
    if (as_root) {
        // Containers run as root; who starts dtrain-launch as root has made that choice.
        out.set("OMPI_ALLOW_RUN_AS_ROOT", "1");
        out.set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    return out;
}

}  // namespace dtrain::launch
