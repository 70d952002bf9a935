// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gpu.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

#include "base/module_file.hpp"

namespace dtrain::kernels {
namespace {

using Open = Gpu* (*)(int);

// CUDA's libraries are hundreds of megabytes: only who computes on a GPU loads them.
Open find_module() try {
    return reinterpret_cast<Open>(
        open_module({"libdtrain_gpu.so", "DTRAIN_GPU_MODULE", "dtrain_open_gpu"}, RTLD_NOW));
} catch (const ModuleError& error) {
    if (error.kind() == ModuleError::Kind::foreign)
        throw UsageError(
            fmt::format("DTRAIN_GPU_MODULE names '{}', which is no GPU module of dtrain", error.file()));
    throw UsageError(
        fmt::format("dtrain cannot compute on GPUs here: {}; it must have been built with "
                    "CUDA, or compute on the device \"cpu\"",
                    error.what()));
}

}  // namespace

std::shared_ptr<Gpu> open_gpu(int number) {
    static const auto open = find_module();
    return std::shared_ptr<Gpu>(open(number));
}

}  // namespace dtrain::kernels
