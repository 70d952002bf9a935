// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <dtrain/executor.hpp>

#include "kernels/gpu.hpp"

namespace dtrain::program {

inline constexpr std::string_view compute_on_the_cpu =
    "compute on the CPU (device \"cpu\", or DTRAIN_DEVICE=cpu)";

/// What of a program and its State is not supported on GPUs, for device_to_use(); "" if everything is.
std::string why_not_on_a_gpu(const Program& program, const State& state);
std::string why_not_on_a_gpu(const State& state);
/// The same for a program that does not exist yet. @param one_copy whether the ranks of a node share one copy
/// of the parameters
std::string why_not_on_a_gpu(bool one_copy);

/// @throws ProgramError if several ranks share one copy of the parameters
void check_gpu_has_state(const State& state);

/// @throws ProgramError for operators that are not supported on GPUs
void check_gpu_has_all_of(const Program& program, const kernels::Gpu& gpu);

}  // namespace dtrain::program
