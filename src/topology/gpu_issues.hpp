// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "topology/gpu_health.hpp"

namespace dtrain::topology {

/// What an operator should know about a GPU before a job uses it.
struct GpuIssue {
    bool is_fault =
        false;         ///< a job would fail or give wrong results; else the GPU is only slower than possible
    std::string text;  ///< without the GPU's name
    std::string remedy;
    friend bool operator==(const GpuIssue&, const GpuIssue&) = default;
};

/// The issues of a GPU before a job starts, when every process on the GPU belongs to somebody else. Pure.
std::vector<GpuIssue> issues_of(const GpuHealth& health);

}  // namespace dtrain::topology
