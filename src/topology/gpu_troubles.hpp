// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "topology/gpu_health.hpp"

namespace dtrain::topology {

/// What an operator should know of a GPU before a job gets it.
struct GpuTrouble {
    bool is_fault =
        false;         ///< a job would fail or give wrong results; else it is only slower than it could be
    std::string text;  ///< without the GPU's name
    std::string mend;
    friend bool operator==(const GpuTrouble&, const GpuTrouble&) = default;
};

/// Before a job starts, when every process on the GPU is somebody else's. Pure.
std::vector<GpuTrouble> troubles_of(const GpuHealth& health);

}  // namespace dtrain::topology
