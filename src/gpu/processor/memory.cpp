// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory.hpp"

#include <cstring>

#include "base/aligned_memory.hpp"
#include "gpu/processor/launch.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace dtrain::gpu {
namespace {

// Makes a sanitizer report accesses of kernels to this memory.
void forbid([[maybe_unused]] std::byte* from, [[maybe_unused]] std::size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
    ASAN_POISON_MEMORY_REGION(from, bytes);
#endif
}

}  // namespace

DeviceMemory allocate(std::size_t bytes) {
    constexpr std::size_t alignment = 256;  // the alignment of CUDA
    const auto whole = aligned_to<alignment>(bytes + 1);
    auto memory = make_aligned_bytes<alignment>(whole);
    std::memset(memory.get(), 0, bytes);
    forbid(memory.get() + bytes, whole - bytes);
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
