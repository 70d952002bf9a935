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

/// What GPUs do not do of a program and its State, as device_to_use() wants it; "": nothing.
std::string why_not_on_a_gpu(const Program& program, const State& state);
std::string why_not_on_a_gpu(const State& state);
/// The same of a program that is yet to be made. @param one_copy of parameters for the ranks of a node
std::string why_not_on_a_gpu(bool one_copy);

/// @throws ProgramError for one copy of the parameters for several ranks
void check_gpu_has_state(const State& state);

/// @throws ProgramError for operators that GPUs do not do
void check_gpu_has_all_of(const Program& program, const kernels::Gpu& gpu);

}  // namespace dtrain::program
