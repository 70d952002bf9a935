// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/select_gpus.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "topology/same_device.hpp"

namespace dtrain::topology {
namespace {

/// The GPU whose UUID begins with `id`; nothing if `id` is not a UUID or no GPU matches.
std::optional<int> index_of_uuid(const std::string& id, const std::string& wanted, const Machine& machine) {
    if (!id.starts_with("GPU-")) return std::nullopt;
    std::optional<int> found;
    for (const auto& gpu : machine.gpus) {
        if (!gpu.uuid.starts_with(id)) continue;
        if (found)
            throw UsageError(fmt::format("{}: several GPUs have a UUID that begins with {}", wanted, id));
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
                                    const Machine& machine, const GpuOption& option) {
    if (trimmed(gpus) == "all") return visible;
    const auto wanted = fmt::format("{} {}", option.name, gpus);
    std::vector<VisibleGpu> selected;
    for (const auto& part : split(gpus, ',')) {
        const std::string id(trimmed(part));
        const auto number = parse_int(id);
        if (id.empty() || (number && *number < 0))
            throw UsageError(fmt::format("{}: \"{}\" is no GPU id; write them like 0,1,2,3", wanted, id));
        const auto index = number ? number : index_of_uuid(id, wanted, machine);
        const auto found = std::find_if(visible.begin(), visible.end(), [&](const VisibleGpu& device) {
            return device.id == id || (index && device.index == index && !device.id.starts_with("MIG"));
        });
        if (found == visible.end())
            throw UsageError(
                visible.empty()
                    ? fmt::format("{}: there is no GPU {}: no NVIDIA GPU is visible on this machine; {}",
                                  wanted, id, option.without_gpus)
                    : fmt::format("{}: there is no GPU {} here; visible are {}", wanted, id,
                                  ids_of(visible)));
        if (std::any_of(selected.begin(), selected.end(),
                        [&](const auto& other) { return is_same_device(other, *found); }))
            throw UsageError(fmt::format("{}: GPU {} is named twice", wanted, id));
        selected.push_back(*found);
    }
    return selected;
}

}  // namespace dtrain::topology
