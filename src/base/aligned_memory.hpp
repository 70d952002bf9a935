// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace dtrain {

/// `bytes` rounded up to a multiple of the alignment.
template <std::size_t alignment>
constexpr std::size_t aligned_to(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

template <std::size_t alignment>
struct AlignedDelete {
    void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t(alignment)); }
};

/// An array of bytes whose address is a multiple of the alignment.
template <std::size_t alignment>
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete<alignment>>;

/// The content is uninitialized.
template <std::size_t alignment>
AlignedBytes<alignment> make_aligned_bytes(std::size_t bytes) {
    return AlignedBytes<alignment>(
        static_cast<std::byte*>(::operator new(bytes, std::align_val_t(alignment))));
}

}  // namespace dtrain
