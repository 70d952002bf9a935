// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "gpu/on_device.hpp"
#ifndef __CUDACC__
#include <atomic>
#endif

namespace dtrain::gpu {

/// Where kernels report invalid data, because they cannot throw. In GPU memory; the first report is kept.
struct DeviceError {
    struct Content {
        unsigned long long kernel = 0;  ///< number of the kernel, from 1; 0: no error
        long long position = 0;         ///< for example, the row of a batch
        long long value = 0;            ///< the invalid value
    };

    Content* content;
    unsigned long long kernel;  ///< number of the reporting kernel

    ON_DEVICE void report(long long position, long long value) const {
#ifdef __CUDA_ARCH__
        if (atomicCAS(&content->kernel, 0ULL, kernel) != 0) return;
#elif !defined(__CUDACC__)
        unsigned long long none = 0;
        if (!std::atomic_ref(content->kernel).compare_exchange_strong(none, kernel)) return;
#endif
        content->position = position;
        content->value = value;
    }

    /// Updates of parameters do nothing then.
    ON_DEVICE bool is_any() const {
        return content->kernel != 0;
    }
};

}  // namespace dtrain::gpu
