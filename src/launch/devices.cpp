// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/devices.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::launch {
namespace {

using topology::VisibleGpu;

bool same_device(const VisibleGpu& a, const VisibleGpu& b) {
    if (a.id == b.id) return true;
    // Several partitions of one GPU are several devices.
    const bool partition = a.id.starts_with("MIG") || b.id.starts_with("MIG");
    return !partition && a.index && a.index == b.index;
}

/// The GPU whose UUID begins with `id`, or nothing when `id` is no UUID or no GPU has it.
std::optional<int> index_of_uuid(const std::string& id, const std::string& gpus,
                                 const topology::Machine& machine) {
    if (!id.starts_with("GPU-")) return std::nullopt;
    std::optional<int> found;
    for (const auto& gpu : machine.gpus) {
        if (!gpu.uuid.starts_with(id)) continue;
        if (found)
            throw UsageError(
                fmt::format("--gpus {}: several GPUs have a UUID that begins with {}", gpus, id));
        found = gpu.index;
    }
    return found;
}

}  // namespace

std::string ids_of(const std::vector<VisibleGpu>& devices) {
    std::vector<std::string> ids;
    for (const auto& device : devices) ids.push_back(device.id);
    return join(ids, ",");
}

std::vector<VisibleGpu> select_gpus(const std::string& gpus, const std::vector<VisibleGpu>& visible,
                                    const topology::Machine& machine) {
    if (trimmed(gpus) == "all") return visible;
    std::vector<VisibleGpu> selected;
    for (const auto& part : split(gpus, ',')) {
        const std::string id(trimmed(part));
        const auto number = parse_int(id);
        if (id.empty() || (number && *number < 0))
            throw UsageError(
                fmt::format("--gpus {}: \"{}\" is no GPU id; write them like 0,1,2,3", gpus, id));
        const auto index = number ? number : index_of_uuid(id, gpus, machine);
        const auto found = std::find_if(visible.begin(), visible.end(), [&](const VisibleGpu& device) {
            return device.id == id || (index && device.index == index && !device.id.starts_with("MIG"));
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

std::vector<VisibleGpu> first_gpus(const std::string& count, const std::vector<VisibleGpu>& visible) {
    const auto number = parse_int(trimmed(count));
    if (!number || *number < 1)
        throw UsageError(
            fmt::format("--gpus {}: with PADDLE_NUM_TRAINERS set it is a number of GPUs; unset that variable "
                        "to name GPUs",
                        count));
    if (*number > static_cast<int>(visible.size()))
        throw UsageError(
            fmt::format("--gpus {} is a number of GPUs, as PADDLE_NUM_TRAINERS is set, but {} {} "
                        "visible here",
                        *number, visible.size(), visible.size() == 1 ? "is" : "are"));
    return {visible.begin(), visible.begin() + *number};
}

}  // namespace dtrain::launch
