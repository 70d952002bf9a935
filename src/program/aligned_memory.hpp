// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace dtrain::program {

/// Tensors begin at cache lines, which are also the widest vectors.
inline constexpr std::size_t alignment = 64;

constexpr std::size_t aligned(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

struct AlignedDelete {
    void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t(alignment)); }
};
using AlignedMemory = std::unique_ptr<std::byte[], AlignedDelete>;

/// Zeros.
inline AlignedMemory make_memory(std::size_t bytes) {
    AlignedMemory memory(
        static_cast<std::byte*>(::operator new(aligned(bytes + 1), std::align_val_t(alignment))));
    std::fill_n(memory.get(), aligned(bytes + 1), std::byte{0});
    return memory;
}

}  // namespace dtrain::program
