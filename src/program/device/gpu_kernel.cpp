// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/device/gpu_kernel.hpp"

#include <fmt/format.h>

#include <dtrain/program.hpp>

#include "program/device/check_gpu.hpp"

namespace dtrain::program {

std::unique_ptr<kernels::Kernel> make_gpu_kernel(kernels::Gpu& gpu, const std::string& operator_type,
                                                 const kernels::KernelArguments& arguments) {
    try {
        return gpu.make_kernel(operator_type, arguments);
    } catch (const Error& error) {
        throw ProgramError(
            fmt::format("operator {} on a GPU: {}; {}", operator_type, error.what(), compute_on_the_cpu),
            operator_type, "");
    }
}

}  // namespace dtrain::program
