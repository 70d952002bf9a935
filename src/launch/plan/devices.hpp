// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/topology.hpp>

namespace dtrain::launch {

/// The first `count` visible devices: the meaning of --gpus N in the handbook's first spelling (Paddle 1.x).
/// @throws UsageError if `count` is not a number, or there are fewer devices.
std::vector<topology::VisibleGpu> first_gpus(const std::string& count,
                                             const std::vector<topology::VisibleGpu>& visible);

/// torchrun's meaning of GPUs: rank n uses the n-th visible one. Those of `processes` ranks, all without a
/// number, none if there are too few: the ranks are CPU ranks then. Pure.
std::vector<topology::VisibleGpu> first_for_each(const std::vector<topology::VisibleGpu>& visible,
                                                 std::optional<int> processes);

/// The devices of each rank of a node: one device per rank, or `devices` split into contiguous equal parts
/// for `processes` ranks; without devices, `processes` CPU ranks (default: one). Pure.
/// @throws UsageError if `processes` does not divide the number of devices.
std::vector<std::vector<topology::VisibleGpu>> deal_devices(const std::vector<topology::VisibleGpu>& devices,
                                                            std::optional<int> processes);

}  // namespace dtrain::launch
