// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/philox.hpp"

#include <algorithm>

#include "kernels/each_set.hpp"

namespace dtrain::kernels {
namespace {

constexpr std::size_t lanes = 16;  // blocks computed in parallel

constexpr std::uint32_t high(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32U);
}

constexpr std::uint32_t low(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}

}  // namespace

EACH_SET void philox(std::uint64_t key, std::uint64_t step, std::uint64_t first_block, std::uint32_t* out,
                     std::size_t blocks) {
    constexpr std::uint64_t multiplier0 = 0xD2511F53U;
    constexpr std::uint64_t multiplier1 = 0xCD9E8D57U;
    constexpr std::uint32_t weyl0 = 0x9E3779B9U;
    constexpr std::uint32_t weyl1 = 0xBB67AE85U;
    for (std::size_t done = 0; done < blocks; done += lanes) {
        std::uint32_t c0[lanes];
        std::uint32_t c1[lanes];
        std::uint32_t c2[lanes];
        std::uint32_t c3[lanes];
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            c0[lane] = low(first_block + done + lane);
            c1[lane] = high(first_block + done + lane);
            c2[lane] = low(step);
            c3[lane] = high(step);
        }
        std::uint32_t k0 = low(key);
        std::uint32_t k1 = high(key);
        for (int round = 0; round < 10; ++round) {
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                const std::uint64_t product0 = multiplier0 * c0[lane];
                const std::uint64_t product1 = multiplier1 * c2[lane];
                c0[lane] = high(product1) ^ c1[lane] ^ k0;
                c1[lane] = low(product1);
                c2[lane] = high(product0) ^ c3[lane] ^ k1;
                c3[lane] = low(product0);
            }
            k0 += weyl0;
            k1 += weyl1;
        }
        const auto left = std::min(lanes, blocks - done);
        for (std::size_t lane = 0; lane < left; ++lane) {
            auto* block = out + 4 * (done + lane);
            block[0] = c0[lane];
            block[1] = c1[lane];
            block[2] = c2[lane];
            block[3] = c3[lane];
        }
    }
}

}  // namespace dtrain::kernels
