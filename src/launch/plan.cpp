// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::launch {
namespace {

using topology::VisibleGpu;

constexpr const char* this_node = "127.0.0.1";
constexpr int rendezvous_ports = 2;

std::string ids_of(const std::vector<VisibleGpu>& devices) {
    std::vector<std::string> ids;
    for (const auto& device : devices) ids.push_back(device.id);
    return join(ids, ",");
}

bool same_device(const VisibleGpu& a, const VisibleGpu& b) {
    if (a.id == b.id) return true;
    // Several partitions of one GPU are several devices.
    const bool partition = a.id.starts_with("MIG") || b.id.starts_with("MIG");
    return !partition && a.index && a.index == b.index;
}

std::vector<std::string> warnings_about(const std::vector<VisibleGpu>& devices) {
    std::vector<VisibleGpu> unknown;
    std::copy_if(devices.begin(), devices.end(), std::back_inserter(unknown),
                 [](const VisibleGpu& device) { return !device.index; });
    if (unknown.empty()) return {};
    return {
        fmt::format("this machine shows no GPU {}, which CUDA_VISIBLE_DEVICES names; used without pinning",
                    ids_of(unknown))};
}

}  // namespace

int Plan::size() const {
    int total = 0;
    for (const auto& node : nodes) total += static_cast<int>(node.ranks.size());
    return total;
}

std::vector<VisibleGpu> select_gpus(const std::string& gpus, const std::vector<VisibleGpu>& visible) {
    std::vector<VisibleGpu> selected;
    for (const auto& part : split(gpus, ',')) {
        const std::string id(trimmed(part));
        const auto number = parse_int(id);
        if (id.empty() || (number && *number < 0))
            throw UsageError(
                fmt::format("--gpus {}: \"{}\" is no GPU id; write them like 0,1,2,3", gpus, id));
        const auto found = std::find_if(visible.begin(), visible.end(), [&](const VisibleGpu& device) {
            return device.id == id || (number && device.index == number && !device.id.starts_with("MIG"));
        });
        if (found == visible.end())
            throw UsageError(
                visible.empty()
                    ? fmt::format("--gpus {}: there is no GPU {}: no NVIDIA GPU is visible on this machine; "
                                  "for CPU processes use --nproc_per_node",
                                  gpus, id)
                    : fmt::format("--gpus {}: there is no GPU {} here; visible are {}", gpus, id,
                                  ids_of(visible)));
        if (std::any_of(selected.begin(), selected.end(),
                        [&](const auto& other) { return same_device(other, *found); }))
            throw UsageError(fmt::format("--gpus {}: GPU {} is named twice", gpus, id));
        selected.push_back(*found);
    }
    return selected;
}

std::vector<std::vector<VisibleGpu>> deal_devices(const std::vector<VisibleGpu>& devices,
                                                  std::optional<int> processes) {
    const auto count = static_cast<int>(devices.size());
    if (processes && *processes < 1)
        throw UsageError(
            fmt::format("--nproc_per_node {} is no number of processes; it must be at least 1", *processes));
    if (count == 0)
        return std::vector<std::vector<VisibleGpu>>(static_cast<std::size_t>(processes.value_or(1)));
    const int ranks = processes.value_or(count);
    if (count % ranks != 0)
        throw UsageError(
            fmt::format("--nproc_per_node {} does not divide the {} GPU{} {}; each process gets equally "
                        "many, so use {} or choose others with --gpus",
                        ranks, count, count == 1 ? "" : "s", ids_of(devices), count));
    const auto share = count / ranks;
    std::vector<std::vector<VisibleGpu>> dealt;
    for (auto next = devices.begin(); next != devices.end(); next += share)
        dealt.emplace_back(next, next + share);
    return dealt;
}

Plan make_plan(const PlanInput& input) {
    const auto& options = input.options;
    const auto visible = topology::visible_gpus(input.machine, input.environment.get("CUDA_VISIBLE_DEVICES"));
    const auto devices = options.gpus ? select_gpus(*options.gpus, visible) : visible;
    const auto dealt = deal_devices(devices, options.nproc_per_node);

    Plan plan{.job_id = options.job_id,
              .program = input.program,
              .log_dir = input.log_dir,
              .bind = options.bind && input.machine.is_this_system,
              .warnings = warnings_about(devices)};

    std::vector<std::vector<int>> known;
    for (const auto& share : dealt) {
        std::vector<int> indices;
        for (const auto& device : share)
            if (device.index) indices.push_back(*device.index);
        known.push_back(indices);
    }
    const auto placements = topology::place(input.machine, known);

    NodePlan node{.host = this_node, .cuda_visible_devices = ids_of(devices)};
    int position = 0;
    for (std::size_t rank = 0; rank < dealt.size(); ++rank) {
        const auto& placement = placements[rank];
        RankPlan planned{
            .rank = static_cast<int>(rank), .local_rank = static_cast<int>(rank), .reason = placement.reason};
        for (const auto& device : dealt[rank]) {
            planned.gpus.push_back(device.id);
            planned.assignment.devices.push_back(position++);
            if (!device.index) planned.reason = "GPU that this machine does not show, " + placement.reason;
        }
        planned.assignment.cpus = placement.cpus;
        planned.assignment.numa_nodes = placement.numa_nodes;
        planned.assignment.threads = placement.threads;
        planned.assignment.shared = placement.shared;
        planned.assignment.adapter = placement.adapter;
        node.ranks.push_back(std::move(planned));
    }
    const int ranks = static_cast<int>(node.ranks.size());
    plan.nodes.push_back(std::move(node));

    const auto ports = input.ports(ranks + rendezvous_ports);
    for (int rank = 0; rank < ranks; ++rank)
        plan.endpoints.trainers.push_back(
            fmt::format("{}:{}", this_node, ports[static_cast<std::size_t>(rank)]));
    plan.endpoints.paddle_master = fmt::format("{}:{}", this_node, ports[static_cast<std::size_t>(ranks)]);
    plan.endpoints.master_addr = this_node;
    plan.endpoints.master_port = ports[static_cast<std::size_t>(ranks) + 1];
    return plan;
}

}  // namespace dtrain::launch
