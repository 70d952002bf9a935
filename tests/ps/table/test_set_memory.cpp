// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a std::map of the blocks that are taken, each filled with a pattern of its own.
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/table/set_memory.hpp"

namespace dtrain::ps {
namespace {

struct Taken {
    std::size_t bytes;
    unsigned char pattern;
};

void expect_untouched(const std::byte* block, const Taken& taken) {
    for (const std::size_t at : {std::size_t{0}, taken.bytes / 2, taken.bytes - 1})
        ASSERT_EQ(static_cast<unsigned char>(block[at]), taken.pattern) << taken.bytes;
}

std::size_t of_a_set(std::size_t slots) {
    return 5 * slots + 32;
}

TEST(SetMemory, BlocksAreApartAndKeepWhatIsInThem) {
    SetMemory memory;
    std::mt19937_64 dice(1);
    std::map<std::byte*, Taken> blocks;
    for (int i = 0; i < 20000; ++i) {
        if (blocks.size() < 200 || dice() % 2 == 0) {
            const auto bytes = of_a_set((std::size_t{1} << (dice() % 16)) - 1);
            auto* const block = static_cast<std::byte*>(memory.take(bytes));
            const auto pattern = static_cast<unsigned char>(dice());
            const auto next = blocks.lower_bound(block);
            ASSERT_TRUE(next == blocks.end() || block + bytes <= next->first);
            ASSERT_TRUE(next == blocks.begin() ||
                        std::prev(next)->first + std::prev(next)->second.bytes <= block);
            std::memset(block, pattern, bytes);
            blocks[block] = {bytes, pattern};
        } else {
            auto gone = blocks.begin();
            std::advance(gone, dice() % blocks.size());
            ASSERT_NO_FATAL_FAILURE(expect_untouched(gone->first, gone->second));
            memory.give_back(gone->first);
            blocks.erase(gone);
        }
    }
    for (const auto& [block, taken] : blocks) {
        ASSERT_NO_FATAL_FAILURE(expect_untouched(block, taken));
        memory.give_back(block);
    }
    EXPECT_EQ(memory.spare_bytes(), 0U);
}

TEST(SetMemory, SetsThatDoubleInTurnLeaveLittleBehind) {
    constexpr std::size_t sets = 1024;
    for (const std::size_t slots : {127, 8191, 131071}) {
        SetMemory memory;
        std::vector<void*> small, large;
        for (std::size_t i = 0; i < sets; ++i) small.push_back(memory.take(of_a_set(slots)));
        for (std::size_t i = 0; i < sets; ++i) {
            large.push_back(memory.take(of_a_set(2 * slots + 1)));
            memory.give_back(small[i]);
            const auto in_use = (i + 1) * of_a_set(2 * slots + 1) + (sets - i - 1) * of_a_set(slots);
            ASSERT_LE(static_cast<double>(memory.spare_bytes()), 0.1 * static_cast<double>(in_use) + 4e6)
                << slots << " " << i;
        }
        for (auto* block : large) memory.give_back(block);
        EXPECT_EQ(memory.spare_bytes(), 0U);
    }
}

TEST(SetMemory, ThreadsTakeAndGiveBackAtOnce) {
    SetMemory memory;
    std::vector<std::jthread> threads;
    for (unsigned char thread = 1; thread <= 4; ++thread)
        threads.emplace_back([&memory, thread] {
            for (int i = 0; i < 2000; ++i) {
                const Taken taken{of_a_set(63), thread};
                auto* const block = static_cast<std::byte*>(memory.take(taken.bytes));
                std::memset(block, taken.pattern, taken.bytes);
                expect_untouched(block, taken);
                memory.give_back(block);
            }
        });
    threads.clear();
    EXPECT_EQ(memory.spare_bytes(), 0U);
}

}  // namespace
}  // namespace dtrain::ps
