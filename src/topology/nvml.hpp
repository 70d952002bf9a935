// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// A GPU as reported by NVIDIA's management library.
struct NvmlGpu {
    PciAddress pci;
    std::string uuid;
    std::string model;
    std::vector<std::string> mig_uuids;
};

/// The GPUs that NVML reports to this process, or nothing if the library is missing or cannot be initialized.
std::optional<std::vector<NvmlGpu>> ask_nvml(const std::string& library);

/// Versions as shown to people; "" if unknown.
struct NvmlDriver {
    std::string version;  ///< "550.54.15"
    std::string cuda;     ///< the newest CUDA that the driver supports, "12.4"
    friend bool operator==(const NvmlDriver&, const NvmlDriver&) = default;
};

NvmlDriver ask_nvml_driver(const std::string& library = "libnvidia-ml.so.1");

}  // namespace dtrain::topology
