// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// The GPUs among `gpus` that the driver lets this process use, renumbered, with model, UUID and MIG
/// partitions as far as the driver reports them: through /proc below `root`, and through NVML if that is
/// incomplete. Unchanged on a machine without a driver.
std::vector<Gpu> named_by_driver(std::vector<Gpu> gpus, const std::filesystem::path& root,
                                 const std::string& nvml_library);

}  // namespace dtrain::topology
