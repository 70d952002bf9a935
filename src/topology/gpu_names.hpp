// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// The GPUs among `gpus` that this system's driver lets this process use, numbered anew, with model, UUID and
/// MIG partitions as far as the driver tells: through /proc below `root`, and through NVML when that leaves
/// something open. Returns them unchanged on a machine without driver.
std::vector<Gpu> named_by_driver(std::vector<Gpu> gpus, const std::filesystem::path& root,
                                 const std::string& nvml_library);

}  // namespace dtrain::topology
