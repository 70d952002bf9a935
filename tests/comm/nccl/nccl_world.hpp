// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// All ranks of a test over NCCL, on GPUs (nccl_on_gpus.cpp) or on a stand-in for them (nccl_on_stand_in.cpp).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include <dtrain/communicator.hpp>
#include <dtrain/nccl.hpp>

namespace dtrain {

/// Made once. @throws NcclError
const Communicator& nccl_world();

/// Why there is none, if so: the same on all ranks.
std::optional<std::string> why_no_nccl();

/// Memory of the GPU.
template <class T>
class GpuVector {
  public:
    explicit GpuVector(std::size_t count) : count_(count) {
        void* data = nullptr;
        if (cudaMalloc(&data, count * sizeof(T) + 1) != cudaSuccess) throw Error("cudaMalloc failed");
        data_ = static_cast<T*>(data);
    }
    explicit GpuVector(const std::vector<T>& values) : GpuVector(values.size()) { *this = values; }
    GpuVector(const GpuVector&) = delete;
    GpuVector& operator=(const GpuVector&) = delete;
    GpuVector& operator=(const std::vector<T>& values) {
        cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
        return *this;
    }
    ~GpuVector() { cudaFree(data_); }

    std::span<T> span() { return {data_, count_}; }
    std::span<const T> span() const { return {data_, count_}; }

    std::vector<T> on_host() const {
        std::vector<T> values(count_);
        cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost);
        return values;
    }

  private:
    T* data_ = nullptr;
    std::size_t count_;
};

}  // namespace dtrain
