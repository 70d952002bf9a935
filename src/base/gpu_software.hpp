// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dtrain {

/// The software below a program that computes on GPUs. Versions as people write them; "" is not there, or not
/// told.
struct GpuSoftware {
    std::string driver;        ///< NVIDIA's, "550.54.15"
    std::string cuda_driver;   ///< the newest CUDA that this supports, "12.4"
    std::string cuda_runtime;  ///< that dtrain was built with
    std::string nccl;          ///< the library that is loaded
    std::string nccl_built;    ///< the one that dtrain was built with
    std::string nccl_needed;   ///< the oldest that has all calls of this dtrain
    std::string nccl_cuda;     ///< that the loaded library was compiled for
    friend bool operator==(const GpuSoftware&, const GpuSoftware&) = default;
};

/// What does not fit together.
struct SoftwareIssue {
    bool is_fault = false;  ///< dtrain cannot compute on GPUs so; else it may
    std::string text;       ///< about "its" driver: that of a machine
    std::string remedy;
    friend bool operator==(const SoftwareIssue&, const SoftwareIssue&) = default;
};

/// On one machine. A driver runs what was built with any CUDA of its own major version or an older one:
/// https://docs.nvidia.com/deploy/cuda-compatibility/ Pure.
std::vector<SoftwareIssue> issues_of(const GpuSoftware& software);

/// For people, where CUDA says that the driver is insufficient, which it also says of a machine without any.
/// @param cuda_driver, cuda_runtime as CUDA numbers its versions; 0 is none
std::string insufficient_driver_text(int cuda_driver, int cuda_runtime);

/// "13.0" of 13000, as CUDA numbers its versions; "" of 0.
std::string cuda_version_text(int number);

/// "2.28.9" of 22809, "2.8.4" of 2804, as NCCL numbers its versions.
std::string nccl_version_text(int number);

}  // namespace dtrain
