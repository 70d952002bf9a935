// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the rules that block_pool.hpp states, worked out by hand.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nn/block_pool.hpp"
#include "nn/lru_cache.hpp"

namespace dtrain::eager {
namespace {

TEST(BlockPool, SizesAreRoundedUpByAQuarterAtMost) {
    EXPECT_EQ(block_size(0), 64U);
    EXPECT_EQ(block_size(1), 64U);
    EXPECT_EQ(block_size(65), 128U);
    EXPECT_EQ(block_size(256), 256U);
    EXPECT_EQ(block_size(257), 320U);
    EXPECT_EQ(block_size(512), 512U);
    EXPECT_EQ(block_size(513), 640U);
    EXPECT_EQ(block_size(1U << 20U), 1U << 20U);
    for (std::size_t bytes = 1; bytes < 5000; ++bytes) {
        EXPECT_GE(block_size(bytes), bytes);
        EXPECT_EQ(block_size(bytes) % 64, 0U);
        EXPECT_LE(block_size(bytes), std::max<std::size_t>(bytes + 64, bytes + bytes / 4 + 1));
        EXPECT_EQ(block_size(block_size(bytes)), block_size(bytes)) << bytes;
    }
}

TEST(BlockPool, StepsThatTakeTheSameGetTheSame) {
    const auto pool = std::make_shared<BlockPool>();
    std::vector<std::byte*> first;
    for (int step = 0; step < 5; ++step) {
        std::vector<std::shared_ptr<std::byte>> taken;
        std::vector<std::byte*> addresses;
        for (int i = 0; i < 7; ++i) {
            taken.push_back(pool->take(1000));
            addresses.push_back(taken.back().get());
            if (i % 3 == 2) taken.erase(taken.begin());  // freed in another order than taken
        }
        if (step == 0) first = addresses;
        EXPECT_EQ(addresses, first);
    }
    EXPECT_EQ(pool->bytes(), 5 * block_size(1000));  // as many as were there at once
}

TEST(BlockPool, BlocksOutliveIt) {
    std::vector<std::byte> memory(block_size(8));
    int freed = 0;
    auto pool = std::make_shared<BlockPool>([&](std::size_t bytes) {
        EXPECT_EQ(bytes, memory.size());
        return std::shared_ptr<std::byte>(memory.data(), [&](std::byte*) { ++freed; });
    });
    const std::weak_ptr<BlockPool> forgotten = pool;
    auto block = pool->take(8);
    pool.reset();
    EXPECT_EQ(block.get(), memory.data());
    EXPECT_EQ(freed, 0);
    *block = std::byte{1};
    block.reset();
    EXPECT_EQ(freed, 1);
    EXPECT_TRUE(forgotten.expired());
}

TEST(LruCache, KeepsWhatWasUsedLast) {
    LruCache<int, int> cache(2);
    std::vector<int> made;
    const auto get = [&](int key) {
        return cache.get(key, [&] {
            made.push_back(key);
            return 10 * key;
        });
    };
    EXPECT_EQ(get(1), 10);
    EXPECT_EQ(get(2), 20);
    EXPECT_EQ(get(1), 10);
    EXPECT_EQ(get(3), 30);  // 2 goes
    EXPECT_EQ(get(1), 10);
    EXPECT_EQ(get(2), 20);
    EXPECT_THAT(made, testing::ElementsAre(1, 2, 3, 2));
    EXPECT_EQ(cache.made(), 4U);
}

}  // namespace
}  // namespace dtrain::eager
