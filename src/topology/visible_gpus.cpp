// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/topology.hpp>

#include "base/text.hpp"
#include "topology/same_device.hpp"

namespace dtrain::topology {
namespace {

/// The meaning of one entry of the list on this machine.
struct Meaning {
    bool is_device = false;    ///< false: CUDA ignores this entry and the rest of the list
    std::optional<int> index;  ///< nothing for a device that is not in the machine's description
};

Meaning by_index(const Machine& machine, int index) {
    if (index < 0) return {};
    if (machine.gpus.empty()) return {.is_device = true};
    if (index >= static_cast<int>(machine.gpus.size())) return {};
    return {.is_device = true, .index = index};
}

Meaning by_uuid(const Machine& machine, const std::string& prefix, const std::string& entry) {
    Meaning meaning;
    bool all_named = true;
    for (const auto& gpu : machine.gpus) {
        if (gpu.uuid.empty()) all_named = false;
        if (!gpu.uuid.starts_with(prefix)) continue;
        if (meaning.index)
            throw UsageError(
                fmt::format("CUDA_VISIBLE_DEVICES: \"{}\" is the beginning of several GPUs' UUIDs ({}, {}); "
                            "write more of it",
                            entry, machine.gpus[static_cast<std::size_t>(*meaning.index)].uuid, gpu.uuid));
        meaning.index = gpu.index;
    }
    meaning.is_device = meaning.index || machine.gpus.empty() || !all_named;
    return meaning;
}

Meaning by_mig_uuid(const Machine& machine, const std::string& entry) {
    // Before driver 470: MIG-<UUID of the GPU>/<GPU instance>/<compute instance>.
    if (entry.starts_with("MIG-GPU-")) {
        const std::string gpu = entry.substr(4);
        return by_uuid(machine, gpu.substr(0, gpu.find('/')), entry);
    }
    const Gpu* owner = nullptr;
    std::string found;
    for (const auto& gpu : machine.gpus)
        for (const auto& uuid : gpu.mig_uuids) {
            if (!uuid.starts_with(entry)) continue;
            if (owner != nullptr)
                throw UsageError(
                    fmt::format("CUDA_VISIBLE_DEVICES: \"{}\" is the beginning of several partitions' UUIDs "
                                "({}, {}); write "
                                "more of it",
                                entry, found, uuid));
            owner = &gpu;
            found = uuid;
        }
    if (owner != nullptr) return {.is_device = true, .index = owner->index};
    const bool partitions_are_known = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                                  [](const Gpu& gpu) { return !gpu.mig_uuids.empty(); });
    return {.is_device = !partitions_are_known};
}

Meaning meaning_of(const Machine& machine, const std::string& entry) {
    if (const auto index = parse_int(entry)) return by_index(machine, *index);
    if (entry.starts_with("GPU-")) return by_uuid(machine, entry, entry);
    if (entry.starts_with("MIG-")) return by_mig_uuid(machine, entry);
    return {};
}

}  // namespace

std::vector<VisibleGpu> visible_gpus(const Machine& machine,
                                     const std::optional<std::string>& cuda_visible_devices) {
    std::vector<VisibleGpu> visible;
    if (!cuda_visible_devices) {
        for (const auto& gpu : machine.gpus) visible.push_back({std::to_string(gpu.index), gpu.index});
        return visible;
    }
    for (const auto& part : split(*cuda_visible_devices, ',')) {
        const std::string entry(trimmed(part));
        const Meaning meaning = meaning_of(machine, entry);
        if (!meaning.is_device) break;
        const VisibleGpu device{.id = entry, .index = meaning.index};
        for (const auto& earlier : visible)
            if (is_same_device(earlier, device))
                throw UsageError(fmt::format(
                    "CUDA_VISIBLE_DEVICES={}: \"{}\" names the same device as \"{}\"; name each once",
                    *cuda_visible_devices, device.id, earlier.id));
        visible.push_back(device);
    }
    return visible;
}

}  // namespace dtrain::topology
