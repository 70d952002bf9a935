// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gpu.hpp"

#include <cstdlib>
#include <dlfcn.h>

#include <fmt/format.h>

namespace dtrain::kernels {
namespace {

using Open = Gpu* (*)(int);

// CUDA's libraries are hundreds of megabytes: only who computes on a GPU loads them. The module stays loaded.
Open find_module() {
    const char* told = std::getenv("DTRAIN_GPU_MODULE");
    const char* file = told != nullptr && *told != '\0' ? told : "libdtrain_gpu.so";
    void* module = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr)
        throw UsageError(
            fmt::format("dtrain cannot compute on GPUs here: {}; it must have been built with "
                        "CUDA, or compute on the device \"cpu\"",
                        ::dlerror()));
    void* open = ::dlsym(module, "dtrain_open_gpu");
    if (open == nullptr)
        throw UsageError(fmt::format("DTRAIN_GPU_MODULE names '{}', which is no GPU module of dtrain", file));
    return reinterpret_cast<Open>(open);
}

}  // namespace

std::shared_ptr<Gpu> open_gpu(int number) {
    static const auto open = find_module();
    return std::shared_ptr<Gpu>(open(number));
}

}  // namespace dtrain::kernels
