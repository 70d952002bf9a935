// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include <dtrain/program.hpp>

#include "base/aligned_memory.hpp"

namespace dtrain::program {

/// Tensors begin at cache lines, which are also the widest vectors.
inline constexpr std::size_t alignment = 64;

constexpr std::size_t aligned(std::size_t bytes) {
    return aligned_to<alignment>(bytes);
}

/// What a variable takes up between its neighbours.
inline std::size_t aligned_bytes_of(const Variable& variable) {
    return aligned(TensorView{nullptr, variable.shape, variable.type}.bytes());
}

using AlignedMemory = AlignedBytes<alignment>;

/// Zeros.
inline AlignedMemory make_memory(std::size_t bytes) {
    auto memory = make_aligned_bytes<alignment>(aligned(bytes + 1));
    std::fill_n(memory.get(), aligned(bytes + 1), std::byte{0});
    return memory;
}

}  // namespace dtrain::program
