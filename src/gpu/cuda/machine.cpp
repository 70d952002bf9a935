// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/machine.hpp"

#include <dtrain/error.hpp>

#include "base/gpu_software.hpp"
#include "gpu/cuda/check.hpp"

namespace dtrain::gpu {
namespace {

std::string why_none(cudaError_t result) {
    if (result != cudaErrorInsufficientDriver) return cudaGetErrorString(result);
    int driver = 0;
    int runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    return insufficient_driver_text(driver, runtime);
}

int count_gpus() {
    int count = 0;
    const auto result = cudaGetDeviceCount(&count);
    if (result != cudaSuccess)
        throw UsageError("this machine has no GPU to compute on: " + why_none(result) +
                         "; leave the device \"cpu\", or see what dtrain-launch --check says");
    return count;
}

}  // namespace

void check_gpus() {
    count_gpus();
}

void choose_gpu(int number) {
    const auto count = count_gpus();
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
