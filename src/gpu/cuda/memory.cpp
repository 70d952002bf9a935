// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory.hpp"

#include <algorithm>
#include <string>

#include <dtrain/error.hpp>

#include "gpu/cuda/check.hpp"
#include "gpu/cuda/handles.hpp"

namespace dtrain::gpu {
namespace {

[[noreturn]] void refuse(std::size_t bytes) {
    cudaGetLastError();  // otherwise the next call reports it
    std::size_t available = 0;
    std::size_t all = 0;
    check(cudaMemGetInfo(&available, &all), "cudaMemGetInfo");
    throw Error("the GPU has " + std::to_string(available) + " of its " + std::to_string(all) +
                " bytes left, and " + std::to_string(bytes) + " are needed: take a smaller batch or model");
}

}  // namespace

DeviceMemory allocate(std::size_t bytes) {
    void* memory = nullptr;
    const auto result = cudaMalloc(&memory, bytes + 1);  // + 1: a valid address also for 0 bytes
    if (result == cudaErrorMemoryAllocation) refuse(bytes);
    check(result, "cudaMalloc");
    DeviceMemory owner(static_cast<std::byte*>(memory), [](std::byte* freed) { cudaFree(freed); });
    check(cudaMemset(memory, 0, bytes + 1), "cudaMemset");
    check(cudaStreamSynchronize(nullptr), "cudaMemset");  // our streams do not wait for the default stream
    return owner;
}

DeviceMemory allocate_host(std::size_t bytes) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes + 1, cudaHostAllocPortable), "cudaHostAlloc");
    DeviceMemory owner(static_cast<std::byte*>(memory), [](std::byte* freed) { cudaFreeHost(freed); });
    std::fill_n(owner.get(), bytes + 1, std::byte{0});
    return owner;
}

void to_gpu(const Stream& stream, void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, cuda(stream)), "cudaMemcpyAsync");
}

void to_host(const Stream& stream, void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, cuda(stream)), "cudaMemcpyAsync");
}

void copy(const Stream& stream, void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cuda(stream)), "cudaMemcpyAsync");
}

void set_to_zero(const Stream& stream, void* to, std::size_t bytes) {
    check(cudaMemsetAsync(to, 0, bytes, cuda(stream)), "cudaMemsetAsync");
}

}  // namespace dtrain::gpu
