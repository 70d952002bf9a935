// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gpu.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

#include "base/module_file.hpp"

namespace dtrain::kernels {
namespace {

// CUDA's libraries are hundreds of megabytes: they are loaded only if a GPU is used.
void* find_entry(const char* name) try {
    return open_module({"libdtrain_gpu.so", "DTRAIN_GPU_MODULE", name}, RTLD_NOW);
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
    static const auto open = reinterpret_cast<Gpu* (*)(int)>(find_entry("dtrain_open_gpu"));
    return std::shared_ptr<Gpu>(open(number));
}

void check_gpus() {
    static const auto check = reinterpret_cast<void (*)()>(find_entry("dtrain_check_gpus"));
    check();
}

}  // namespace dtrain::kernels
