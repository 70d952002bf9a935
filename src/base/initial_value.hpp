// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/checksum.hpp"

namespace dtrain {

/// The key from which the elements of a tensor of this name are generated.
inline std::uint64_t initial_key(std::uint64_t seed, std::string_view name) {
    return checksum(seed, std::as_bytes(std::span(name)));
}

/// The i-th number of a key, uniform in [0, 1). Counter-based, not a sequence.
constexpr double initial_unit(std::uint64_t key, std::uint64_t i) {
    return static_cast<double>(mixed(key + i) >> 11U) * 0x1p-53;
}

/// The i-th number of a key, uniform in [-bound, bound). Exact except for one rounding, so it has the same
/// bits everywhere.
constexpr double initial_uniform(std::uint64_t key, std::uint64_t i, double bound) {
    return (2.0 * initial_unit(key, i) - 1.0) * bound;
}

}  // namespace dtrain
