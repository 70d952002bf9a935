// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// "0,1" for people and for CUDA_VISIBLE_DEVICES.
std::string ids_of(const std::vector<VisibleGpu>& devices);

/// Where a list of GPUs comes from, as messages say it.
struct GpuOption {
    std::string_view name = "--gpus";
    std::string_view without_gpus = "for CPU processes use --nproc_per_node";  ///< what to do instead
};

/// The devices that a list selects: physical ids, GPU-uuid with unique prefixes, or "all", checked against
/// what CUDA_VISIBLE_DEVICES leaves visible.
/// @throws UsageError naming the id that is not there and those that are.
std::vector<VisibleGpu> select_gpus(const std::string& gpus, const std::vector<VisibleGpu>& visible,
                                    const Machine& machine, const GpuOption& option = {});

}  // namespace dtrain::topology
