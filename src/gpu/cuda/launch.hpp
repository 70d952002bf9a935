// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include <cuda_runtime_api.h>

#include "gpu/cuda/block.hpp"
#include "gpu/cuda/check.hpp"
#include "gpu/stream.hpp"

namespace dtrain::gpu {

template <class Body>
__global__ void run_each(std::size_t count, Body body) {
    const auto threads = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) body(i);
}

template <class Body>
__global__ void run_blocks(Body body) {
    body(Block{});
}

template <class Body>
void for_each(const Stream& stream, std::size_t count, const Body& body) {
    if (count == 0) return;
    constexpr std::size_t threads = 256;
    constexpr std::size_t max_blocks = 16384;  // with more elements, each thread processes several
    const auto blocks = static_cast<unsigned>(std::min((count + threads - 1) / threads, max_blocks));
    run_each<<<blocks, threads, 0, static_cast<cudaStream_t>(stream.handle())>>>(count, body);
    check(cudaGetLastError(), "the start of a kernel");
}

/// @param threads a multiple of 32, at most 1024
template <class Body>
void launch(const Stream& stream, std::size_t blocks, unsigned threads, const Body& body) {
    if (blocks == 0) return;
    run_blocks<<<static_cast<unsigned>(blocks), threads, 0, static_cast<cudaStream_t>(stream.handle())>>>(
        body);
    check(cudaGetLastError(), "the start of a kernel");
}

}  // namespace dtrain::gpu
