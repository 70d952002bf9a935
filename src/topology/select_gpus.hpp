// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// "0,1", for people and for CUDA_VISIBLE_DEVICES.
std::string ids_of(const std::vector<VisibleGpu>& devices);

/// The option with a list of GPUs, for messages.
struct GpuOption {
    std::string_view name = "--gpus";
    std::string_view without_gpus = "for CPU processes use --nproc_per_node";  ///< alternative without GPUs
};

/// The devices selected by a list: physical ids, GPU-uuid with unique prefixes, or "all", checked against the
/// devices that CUDA_VISIBLE_DEVICES makes visible.
/// @throws UsageError naming the missing id and the available ones.
std::vector<VisibleGpu> select_gpus(const std::string& gpus, const std::vector<VisibleGpu>& visible,
                                    const Machine& machine, const GpuOption& option = {});

}  // namespace dtrain::topology
