// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the known answers that the authors of Philox publish (Random123, kat_vectors).
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/loops/philox.hpp"

namespace dtrain::kernels {
namespace {

std::vector<std::uint32_t> block(std::uint64_t key, std::uint64_t step, std::uint64_t number) {
    std::vector<std::uint32_t> out(4);
    philox(key, step, number, out.data(), 1);
    return out;
}

TEST(Philox, GivesTheKnownAnswers) {
    EXPECT_THAT(block(0, 0, 0), testing::ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
    EXPECT_THAT(block(~0ULL, ~0ULL, ~0ULL),
                testing::ElementsAre(0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU));
    EXPECT_THAT(block(0x299f31d0a4093822U, 0x0370734413198a2eU, 0x85a308d3243f6a88U),
                testing::ElementsAre(0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U));
}

TEST(Philox, MakesManyBlocksAsOneByOne) {
    for (const std::size_t blocks : {1, 3, 15, 16, 17, 40}) {
        const std::uint64_t first = 0xfffffff8U;  // the counter's low half overflows
        std::vector<std::uint32_t> together(4 * blocks + 1, 7);
        philox(5, 6, first, together.data(), blocks);
        std::vector<std::uint32_t> single;
        for (std::size_t i = 0; i < blocks; ++i)
            for (const auto number : block(5, 6, first + i)) single.push_back(number);
        single.push_back(7);  // nothing behind the last block is touched
        EXPECT_EQ(together, single);
    }
}

}  // namespace
}  // namespace dtrain::kernels
