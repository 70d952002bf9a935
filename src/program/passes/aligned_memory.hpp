// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include <dtrain/program.hpp>

#include "base/aligned_memory.hpp"

namespace dtrain::program {

/// Tensors are aligned to cache lines, which also suits the widest vector registers.
inline constexpr std::size_t alignment = 64;

constexpr std::size_t aligned(std::size_t bytes) {
    return aligned_to<alignment>(bytes);
}

/// Bytes that a variable occupies, including padding.
inline std::size_t aligned_bytes_of(const Variable& variable) {
    return aligned(TensorView{nullptr, variable.shape, variable.type}.bytes());
}

using AlignedMemory = AlignedBytes<alignment>;

/// Zero-initialised.
inline AlignedMemory make_memory(std::size_t bytes) {
    auto memory = make_aligned_bytes<alignment>(aligned(bytes + 1));
    std::fill_n(memory.get(), aligned(bytes + 1), std::byte{0});
    return memory;
}

}  // namespace dtrain::program
