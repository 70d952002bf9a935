// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "topology/gpu_health.hpp"

namespace dtrain::topology {

/// What an operator should know of a GPU before a job gets it.
struct GpuIssue {
    bool is_fault =
        false;         ///< a job would fail or give wrong results; else it is only slower than it could be
    std::string text;  ///< without the GPU's name
    std::string remedy;
    friend bool operator==(const GpuIssue&, const GpuIssue&) = default;
};

/// Before a job starts, when every process on the GPU is somebody else's. Pure.
std::vector<GpuIssue> issues_of(const GpuHealth& health);

}  // namespace dtrain::topology
