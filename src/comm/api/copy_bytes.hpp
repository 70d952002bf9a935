// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

namespace dtrain::comm {

/// Does nothing if both are the same memory; otherwise they must not overlap. Both may be null if `bytes` is
/// 0.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

}  // namespace dtrain::comm
