// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "gpu/stream.hpp"

namespace dtrain::gpu {

inline cudaStream_t cuda(const Stream& stream) {
    return static_cast<cudaStream_t>(stream.handle());
}

}  // namespace dtrain::gpu
