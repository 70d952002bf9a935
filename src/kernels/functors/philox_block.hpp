// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/functors/on_device.hpp"

namespace dtrain::kernels {

/// A block of four random numbers.
struct RandomBlock {
    std::uint32_t c0;
    std::uint32_t c1;
    std::uint32_t c2;
    std::uint32_t c3;

    ON_DEVICE std::uint32_t at(std::uint64_t index) const {
        return index == 0 ? c0 : index == 1 ? c1 : index == 2 ? c2 : c3;
    }
};

PER_ELEMENT std::uint32_t high_half(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32U);
}

PER_ELEMENT std::uint32_t low_half(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) for one block, on
/// the host and on devices.
PER_ELEMENT RandomBlock philox_block(std::uint64_t key, std::uint64_t step, std::uint64_t block) {
    RandomBlock c{low_half(block), high_half(block), low_half(step), high_half(step)};
    std::uint32_t k0 = low_half(key);
    std::uint32_t k1 = high_half(key);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t product0 = 0xD2511F53ULL * c.c0;
        const std::uint64_t product1 = 0xCD9E8D57ULL * c.c2;
        c = {high_half(product1) ^ c.c1 ^ k0, low_half(product1), high_half(product0) ^ c.c3 ^ k1,
             low_half(product0)};
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    return c;
}

}  // namespace dtrain::kernels
