// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "gpu/on_device.hpp"
#ifndef __CUDACC__
#include <atomic>
#endif

namespace dtrain::gpu {

/// Where kernels say that data cannot be, as they cannot throw. On the GPU; the first to come stays.
struct DeviceError {
    struct Content {
        unsigned long long kernel = 0;  ///< number from 1 on; 0: none
        long long place = 0;            ///< for instance, the row of a batch
        long long value = 0;            ///< what is there
    };

    Content* content;
    unsigned long long kernel;  ///< whose it is

    ON_DEVICE void report(long long place, long long value) const {
#ifdef __CUDA_ARCH__
        if (atomicCAS(&content->kernel, 0ULL, kernel) != 0) return;
#elif !defined(__CUDACC__)
        unsigned long long none = 0;
        if (!std::atomic_ref(content->kernel).compare_exchange_strong(none, kernel)) return;
#endif
        content->place = place;
        content->value = value;
    }

    /// Updates of parameters do nothing then.
    ON_DEVICE bool is_any() const {
        return content->kernel != 0;
    }
};

}  // namespace dtrain::gpu
