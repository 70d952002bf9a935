// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/torchrun/launch_options.hpp"

#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "identity/address.hpp"
#include "identity/endpoints.hpp"

namespace dtrain::launch::torchrun {
namespace {

using Backend = RunOptions::Backend;
using Processes = RunOptions::Processes;

// torchrun's defaults.
constexpr int port_of_static = 29500;
constexpr int port_of_c10d = 29400;
constexpr int port_of_etcd = 2379;

/// "host:port"; an endpoint without a port has the backend's.
std::string endpoint_with_port(const std::string& endpoint, int otherwise) {
    const auto address = cluster::parse_address_of("--rdzv-endpoint", endpoint, endpoint);
    return cluster::format_address(address.host, address.port.value_or(otherwise));
}

void meet_at_static(const RunOptions& run, Options& out) {
    const bool on_this_machine = run.endpoint.empty() && run.master_addr == RunOptions().master_addr;
    if (on_this_machine)
        throw UsageError(fmt::format(
            "--nnodes {}: the nodes have no place to meet; give --master-addr HOST, or --rdzv-backend c10d "
            "--rdzv-endpoint HOST:PORT, the same on all nodes",
            run.max_nodes));
    if (run.node_rank >= run.max_nodes)
        throw UsageError(fmt::format("--node-rank {}: with --nnodes {} it must be in 0..{}", run.node_rank,
                                     run.max_nodes, run.max_nodes - 1));
    out.master = run.endpoint.empty()
                     ? cluster::format_address(run.master_addr, run.master_port.value_or(port_of_static))
                     : endpoint_with_port(run.endpoint, port_of_static);
    out.rank = run.node_rank;
}

void meet(const RunOptions& run, Options& out) {
    if (run.backend == Backend::etcd) {
        if (run.endpoint.empty())
            throw UsageError("--rdzv-backend etcd-v2 needs --rdzv-endpoint HOST:PORT of etcd");
        out.master = "etcd://" + endpoint_with_port(run.endpoint, port_of_etcd);
        out.nnodes = run.min_nodes == run.max_nodes ? std::to_string(run.max_nodes)
                                                    : fmt::format("{}:{}", run.min_nodes, run.max_nodes);
        return;
    }
    if (run.min_nodes != run.max_nodes)
        throw UsageError(
            fmt::format("--nnodes {}:{}: a number of nodes that may change needs etcd: --rdzv-backend "
                        "etcd-v2 --rdzv-endpoint "
                        "HOST:2379; or give one number",
                        run.min_nodes, run.max_nodes));
    if (run.max_nodes == 1) return;
    out.nnodes = std::to_string(run.max_nodes);
    if (run.backend == Backend::fixed) return meet_at_static(run, out);
    if (run.endpoint.empty())
        throw UsageError(
            fmt::format("--nnodes {} --rdzv-backend c10d needs --rdzv-endpoint HOST:PORT, the same on all "
                        "nodes; the launcher on HOST is node 0",
                        run.max_nodes));
    out.master = endpoint_with_port(run.endpoint, port_of_c10d);
}

bool names_itself(const RunOptions& run) {
    return !run.standalone && run.id != RunOptions().id;
}

/// torchrun makes one up even for a --rdzv-id if the ranks have nothing else to meet by.
bool has_random_id(const RunOptions& run) {
    if (run.standalone) return true;
    return run.backend == Backend::fixed && run.max_nodes == 1 && run.endpoint.empty() && !run.master_port &&
           !names_itself(run);
}

std::optional<int> master_port_of(const RunOptions& run) {
    if (run.standalone || run.backend != Backend::fixed || run.max_nodes > 1) return std::nullopt;
    if (run.master_port && *run.master_port > 0) return run.master_port;
    if (run.endpoint.empty()) return std::nullopt;
    return cluster::parse_address_of("--rdzv-endpoint", run.endpoint, run.endpoint).port;
}

bool runs_a_module(const RunOptions& run) {
    return run.module && !run.run_path;
}

std::vector<std::string> interpreter_of(const RunOptions& run, const std::string& python) {
    if (run.no_python && !run.run_path) return {};
    if (runs_a_module(run)) return {python, "-u", "-m"};
    return {python, "-u"};
}

}  // namespace

Options launch_options(const RunOptions& run, const Circumstances& circumstances, Options site) {
    Options out = std::move(site);
    const auto run_id = has_random_id(run) ? circumstances.random_id : run.id;
    out.torch = TorchRun{.job = {.role = run.role,
                                 .run_id = run_id,
                                 .max_restarts = run.max_restarts,
                                 .redirects = run.redirects,
                                 .tee = run.tee,
                                 .line_prefix = run.line_prefix,
                                 .shown_local_ranks = run.shown_local_ranks,
                                 .virtual_local_rank = run.virtual_local_rank},
                         .interpreter = interpreter_of(run, circumstances.python),
                         .script_is_file = !runs_a_module(run),
                         .needs_gpus = run.processes == Processes::one_per_gpu,
                         .master_port = master_port_of(run)};
    switch (run.processes) {
        case Processes::number:
            out.nproc_per_node = run.nproc_per_node;
            break;
        case Processes::one_per_cpu:
            out.nproc_per_node = circumstances.cpus;
            break;
        case Processes::one_per_gpu:
        case Processes::one_per_gpu_or_cpu:
            break;
    }
    if (!run.standalone) meet(run, out);
    if (names_itself(run)) out.job_id = run.id;
    if (run.join_timeout) out.start_timeout = *run.join_timeout;
    out.host = run.local_addr;
    out.max_restart = run.max_restarts;
    out.grace = run.shutdown_timeout;
    out.log_dir = run.log_dir.empty() ? circumstances.temporary_folder
                                      : fmt::format("{}/{}_{}", run.log_dir, run_id, circumstances.random_id);
    // A rank sees either what torchrun would leave it, or its own GPU out of those of the job.
    out.visible = run.virtual_local_rank ? VisibleGpus::narrow : VisibleGpus::keep;
    out.no_banner = true;
    out.log_level = "WARNING";
    out.tee = "all";
    out.script = run.script;
    out.script_arguments = run.script_arguments;
    return out;
}

}  // namespace dtrain::launch::torchrun
