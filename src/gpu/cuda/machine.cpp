// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/machine.hpp"

#include <dtrain/error.hpp>

#include "gpu/cuda/check.hpp"

namespace dtrain::gpu {

void choose_gpu(int number) {
    int count = 0;
    const auto result = cudaGetDeviceCount(&count);
    if (result != cudaSuccess)
        throw UsageError("there is no GPU to compute on: " + std::string(cudaGetErrorString(result)) +
                         "; leave the device \"cpu\", or see what dtrain-launch --check says");
    if (number < 0 || number >= count)
        throw UsageError("there is no GPU " + std::to_string(number) + ": this process sees " +
                         std::to_string(count) + ", counted from 0 (CUDA_VISIBLE_DEVICES)");
    check(cudaSetDevice(number), "cudaSetDevice");
}

std::string name_of_gpu(int number) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, number), "cudaGetDeviceProperties");
    return "GPU " + std::to_string(number) + ", " + properties.name;
}

}  // namespace dtrain::gpu
