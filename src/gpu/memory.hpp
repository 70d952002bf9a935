// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "gpu/stream.hpp"

namespace dtrain::gpu {

using DeviceMemory = std::shared_ptr<std::byte>;

/// Zero-initialised memory of the current GPU.
DeviceMemory allocate(std::size_t bytes);

/// Zero-initialised pinned host memory, which the GPU can read and write.
DeviceMemory allocate_host(std::size_t bytes);

void to_gpu(const Stream& stream, void* to, const void* from, std::size_t bytes);
void to_host(const Stream& stream, void* to, const void* from, std::size_t bytes);
void copy(const Stream& stream, void* to, const void* from, std::size_t bytes);
void set_to_zero(const Stream& stream, void* to, std::size_t bytes);

}  // namespace dtrain::gpu
