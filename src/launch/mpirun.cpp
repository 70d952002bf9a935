// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/mpirun.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cluster/server_environment.hpp"
#include "launch/worker_options.hpp"

namespace dtrain::launch {
namespace {

/// The ranks of one role, which follow each other: a part of an MPMD command line.
struct Part {
    cluster::Role role;
    int ranks;
};

std::vector<Part> parts_of(const Plan& plan) {
    std::vector<Part> parts;
    for (const auto* rank : plan.ranks()) {
        if (parts.empty() || parts.back().role != rank->role) parts.push_back({rank->role, 0});
        ++parts.back().ranks;
    }
    return parts;
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

std::vector<cluster::HostSlots> mpirun_hosts(const Plan& plan) {
    std::vector<cluster::HostSlots> hosts;
    for (const auto& node : plan.nodes)
        // mpirun starts "localhost" itself, without any remote shell.
        hosts.push_back({.host = plan.nodes.size() == 1 ? "localhost" : node.host,
                         .slots = static_cast<int>(node.ranks.size())});
    return hosts;
}

std::vector<std::string> mpirun_command(const Plan& plan, const std::string& hostfile,
                                        const std::string& worker, const Options& options) {
    std::vector<std::string> argv{"mpirun",   "--hostfile",        hostfile, "--bind-to", "none",
                                  "--map-by", "slot:OVERSUBSCRIBE"};
    const auto for_worker = worker_options(plan.log_dir, options);
    std::string separator;
    for (const auto& part : parts_of(plan)) {
        if (!separator.empty()) argv.push_back(separator);
        separator = ":";
        argv.insert(argv.end(), {"-np", std::to_string(part.ranks), worker});
        argv.insert(argv.end(), for_worker.begin(), for_worker.end());
        if (plan.servers) argv.insert(argv.end(), {"--role", cluster::to_string(part.role)});
        argv.emplace_back("--");
        argv.insert(argv.end(), plan.program.begin(), plan.program.end());
    }
    return argv;
}

Environment worker_environment(const Plan& plan, const Options& options, const std::string& token,
                               bool as_root) {
    Environment out;
    const auto& node = plan.nodes.front();
    out.set("DTRAIN_EVENTS", "1");
    out.set("DTRAIN_JOB_ID", plan.job_id + "." + token.substr(0, 8));
    out.set("DTRAIN_JOB_TOKEN", token);
    out.set("DTRAIN_BIND", plan.bind ? "apply" : "none");
    out.set("DTRAIN_RUN_MODE", to_string(plan.mode));
    if (plan.servers)
        cluster::write_server_job(out, *plan.servers);
    else
        out.set("DTRAIN_ENDPOINTS", join(plan.endpoints.trainers, ","));
    if (options.backend != "auto") out.set("DTRAIN_BACKEND", options.backend);
    if (options.with_gloo) out.set("PADDLE_WITH_GLOO", std::to_string(*options.with_gloo));
    out.set("DTRAIN_MASTER", plan.endpoints.paddle_master);
    out.set("DTRAIN_TORCH_MASTER",
            fmt::format("{}:{}", plan.endpoints.master_addr, plan.endpoints.master_port));
    std::vector<std::string> hosts;
    for (const auto& each : plan.nodes) hosts.push_back(each.host);
    out.set("DTRAIN_HOSTS", join(hosts, ","));
    if (plan.narrow && !node.cuda_visible_devices.empty())
        out.set("DTRAIN_VISIBLE", node.cuda_visible_devices);
    std::vector<cluster::RankAssignment> assignments;
    for (const auto& rank : node.ranks) assignments.push_back(rank.assignment);
    cluster::write_assignments(out, assignments);
    if (as_root) {
        // Containers run as root; whoever starts dtrain-launch as root has made that choice.
        out.set("OMPI_ALLOW_RUN_AS_ROOT", "1");
        out.set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    return out;
}

}  // namespace dtrain::launch
