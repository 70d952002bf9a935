// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dtrain {

/// The software that a program needs to compute on GPUs. Versions as shown to people; "" means missing or
/// unknown.
struct GpuSoftware {
    std::string driver;        ///< NVIDIA's, "550.54.15"
    std::string cuda_driver;   ///< the newest CUDA that the driver supports, "12.4"
    std::string cuda_runtime;  ///< the one dtrain was built with
    std::string nccl;          ///< the loaded library
    std::string nccl_built;    ///< the one dtrain was built with
    std::string nccl_needed;   ///< the oldest that has all functions that this dtrain calls
    std::string nccl_cuda;     ///< the CUDA that the loaded library was compiled for
    friend bool operator==(const GpuSoftware&, const GpuSoftware&) = default;
};

/// An incompatibility.
struct SoftwareIssue {
    bool is_fault = false;  ///< dtrain cannot compute on GPUs; else it may fail
    std::string text;       ///< about a machine's driver, as "its" driver
    std::string remedy;
    friend bool operator==(const SoftwareIssue&, const SoftwareIssue&) = default;
};

/// The incompatibilities on one machine. A driver supports programs built with any CUDA of its own major
/// version or an older one: https://docs.nvidia.com/deploy/cuda-compatibility/ Pure.
std::vector<SoftwareIssue> issues_of(const GpuSoftware& software);

/// An explanation for CUDA's error of an insufficient driver, which it also returns on a machine without a
/// driver.
/// @param cuda_driver, cuda_runtime in CUDA's version numbering; 0: none
std::string insufficient_driver_text(int cuda_driver, int cuda_runtime);

/// 13000 -> "13.0": CUDA's version numbering; 0 -> "".
std::string cuda_version_text(int number);

/// 22809 -> "2.28.9", 2804 -> "2.8.4": NCCL's version numbering.
std::string nccl_version_text(int number);

}  // namespace dtrain
