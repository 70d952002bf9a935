// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain::gpu {

struct Larger {
    template <class Value>
    __device__ Value operator()(Value a, Value b) const {
        return a < b ? b : a;
    }
};

struct Plus {
    template <class Value>
    __device__ Value operator()(Value a, Value b) const {
        return a + b;
    }
};

/// The threads of a block, as seen by one of them. A block has at most 1024 threads, a multiple of 32.
class Block {
  public:
    __device__ unsigned number() const { return blockIdx.x; }
    __device__ unsigned thread() const { return threadIdx.x; }
    __device__ unsigned threads() const { return blockDim.x; }

    /// The sum of all threads' values, returned to all threads; all of them must call it. The order of
    /// addition is fixed.
    template <class Value>
    __device__ Value sum(Value value) const {
        return together(value, Value(0), Plus{});
    }

    template <class Value>
    __device__ Value max(Value value) const {
        return together(value, value, Larger{});
    }

    /// The first thread's value, returned to all threads; all of them must call it.
    template <class Value>
    __device__ Value of_first(const Value& value) const {
        __shared__ Value first;
        if (threadIdx.x == 0) first = value;
        __syncthreads();
        const Value result = first;
        __syncthreads();  // before the next call writes
        return result;
    }

    /// Waits until all threads have arrived; what they wrote before is visible to all of them afterwards.
    __device__ void wait() const { __syncthreads(); }

  private:
    static constexpr unsigned warp = 32;

    template <class Value, class Combine>
    __device__ Value together(Value value, Value neutral, Combine combine) const {
        __shared__ Value warps[warp];
        for (unsigned distance = warp / 2; distance > 0; distance /= 2)
            value = combine(value, __shfl_xor_sync(0xFFFFFFFFU, value, distance));
        if (threadIdx.x % warp == 0) warps[threadIdx.x / warp] = value;
        __syncthreads();
        value = threadIdx.x % warp < blockDim.x / warp ? warps[threadIdx.x % warp] : neutral;
        for (unsigned distance = warp / 2; distance > 0; distance /= 2)
            value = combine(value, __shfl_xor_sync(0xFFFFFFFFU, value, distance));
        __syncthreads();  // before the next call writes
        return value;
    }
};

}  // namespace dtrain::gpu
