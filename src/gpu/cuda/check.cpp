// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/check.hpp"

#include <string>

#include <dtrain/error.hpp>

namespace dtrain::gpu {

void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess)
        throw Error("the GPU failed in " + std::string(what) + ": " + cudaGetErrorString(result) + " (" +
                    cudaGetErrorName(result) + ")");
}

}  // namespace dtrain::gpu
