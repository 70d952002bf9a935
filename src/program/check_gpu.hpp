// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <dtrain/executor.hpp>

#include "kernels/gpu.hpp"

namespace dtrain::program {

inline constexpr std::string_view compute_on_the_cpu =
    "compute on the CPU (device \"cpu\", or DTRAIN_DEVICE=cpu)";

/// @throws ProgramError for one copy of the parameters for several ranks
void check_gpu_has_state(const State& state);

/// @throws ProgramError for operators that GPUs do not do
void check_gpu_has_all_of(const Program& program, const kernels::Gpu& gpu);

}  // namespace dtrain::program
