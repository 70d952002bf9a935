// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/topology.hpp>

namespace dtrain::launch {

/// The first `count` visible devices: --gpus N of the handbook's first spelling.
/// @throws UsageError when `count` is no number, or there are fewer.
std::vector<topology::VisibleGpu> first_gpus(const std::string& count,
                                             const std::vector<topology::VisibleGpu>& visible);

/// The devices of each rank of a node: `devices` dealt out one by one, or in contiguous even parts to
/// `processes`; without devices `processes` CPU ranks (default one). Pure.
/// @throws UsageError when processes do not divide the devices.
std::vector<std::vector<topology::VisibleGpu>> deal_devices(const std::vector<topology::VisibleGpu>& devices,
                                                            std::optional<int> processes);

}  // namespace dtrain::launch
