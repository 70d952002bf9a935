// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory.hpp"

#include <cstring>

#include "base/aligned_memory.hpp"
#include "gpu/processor/launch.hpp"

namespace dtrain::gpu {

DeviceMemory allocate(std::size_t bytes) {
    constexpr std::size_t alignment = 256;  // CUDA's
    auto memory = make_aligned_bytes<alignment>(aligned_to<alignment>(bytes + 1));
    std::memset(memory.get(), 0, bytes);
    return {memory.release(), AlignedDelete<alignment>()};
}

DeviceMemory allocate_host(std::size_t bytes) {
    return allocate(bytes);
}

void copy(const Stream& stream, void* to, const void* from, std::size_t bytes) {
    give(stream, "copy", [to, from, bytes] { std::memcpy(to, from, bytes); });
}

void to_gpu(const Stream& stream, void* to, const void* from, std::size_t bytes) {
    copy(stream, to, from, bytes);
}

void to_host(const Stream& stream, void* to, const void* from, std::size_t bytes) {
    copy(stream, to, from, bytes);
}

void set_to_zero(const Stream& stream, void* to, std::size_t bytes) {
    give(stream, "copy", [to, bytes] { std::memset(to, 0, bytes); });
}

}  // namespace dtrain::gpu
