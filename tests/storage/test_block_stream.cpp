// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the bytes that were given to the stream, at their offsets in the file, and extent_sum() of them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

#include "storage/block_stream.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::storage {
namespace {

using tests::TemporaryFolder;

constexpr std::size_t block = 80 << 10;
constexpr std::size_t blocks = 37;

std::byte nth_byte(std::size_t i, std::size_t at) {
    return static_cast<std::byte>((i * 31 + at * 7 + at / 251) % 256);
}

class BlockStream : public testing::Test {
  protected:
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "file";

    void SetUp() override { tests::write_bytes(path, ""); }

    /// Odd blocks before even ones, some of them not full.
    std::vector<BlockRange> write() {
        BlockWriter writer(path, block, 3);
        std::vector<BlockRange> ranges;
        std::vector<std::uint64_t> sums;
        for (std::size_t i = 0; i < blocks; ++i) {
            auto* const buffer = writer.buffer();
            const auto bytes = i % 5 == 4 ? block - 4321 : block;
            for (std::size_t at = 0; at < bytes; ++at) buffer[at] = nth_byte(i, at);
            sums.push_back(extent_sum({buffer, bytes}));
            ranges.push_back({static_cast<std::int64_t>((i ^ 1U) * block), bytes});
            writer.write(buffer, bytes, ranges.back().offset);
        }
        EXPECT_EQ(writer.finish(), sums);
        return ranges;
    }
};

TEST_F(BlockStream, BringsEveryBlockToItsOffsetAndBack) {
    const auto ranges = write();
    const auto file = tests::bytes_of(path);
    std::size_t next = 0;
    read_blocks(path, ranges, [&](std::size_t i, std::span<std::byte> bytes, std::uint64_t sum) {
        ASSERT_EQ(i, next++);
        ASSERT_EQ(bytes.size(), ranges[i].bytes);
        EXPECT_EQ(sum, extent_sum(bytes));
        for (std::size_t at = 0; at < bytes.size(); ++at) ASSERT_EQ(bytes[at], nth_byte(i, at));
        EXPECT_EQ(std::memcmp(&file[static_cast<std::size_t>(ranges[i].offset)], bytes.data(), bytes.size()),
                  0);
        std::ranges::fill(bytes, std::byte{0});
    });
    EXPECT_EQ(next, blocks);
    read_blocks(path, {}, [](auto, auto, auto) { FAIL(); });
}

TEST_F(BlockStream, BringsEveryBlockOnceToThreadsThatUseThem) {
    const auto ranges = write();
    std::mutex mutex;
    std::set<std::size_t> used;
    for (const auto cache : {PageCache::kept, PageCache::left}) {
        used.clear();
        use_blocks(BlockFile(path, cache), ranges,
                   [&](std::size_t i, std::span<std::byte> bytes, std::uint64_t sum) {
                       const std::scoped_lock lock(mutex);
                       EXPECT_TRUE(used.insert(i).second);
                       ASSERT_EQ(bytes.size(), ranges[i].bytes);
                       EXPECT_EQ(sum, extent_sum(bytes));
                       for (std::size_t at = 0; at < bytes.size(); ++at)
                           ASSERT_EQ(bytes[at], nth_byte(i, at));
                       std::ranges::fill(bytes, std::byte{0});
                   });
        EXPECT_EQ(used.size(), blocks);
    }
    use_blocks(BlockFile(path), {}, [](auto, auto, auto) { FAIL(); });
}

TEST_F(BlockStream, ThreadsThatUseBlocksStopAtTheFirstError) {
    auto ranges = write();
    std::atomic<std::size_t> used = 0;
    const auto fails_at_three = [&](std::size_t i, auto, auto) {
        ++used;
        if (i == 3) throw std::domain_error("3");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    EXPECT_THROW(use_blocks(BlockFile(path), ranges, fails_at_three), std::domain_error);
    EXPECT_LT(used, blocks);
    used = 0;
    const auto fails_from_three = [&](std::size_t i, auto, auto) {
        ++used;
        if (i >= 3) throw std::domain_error("3");
    };
    EXPECT_THROW(use_blocks(BlockFile(path), ranges, fails_from_three), std::domain_error);
    EXPECT_LE(used, 6U);  // each of three threads ends with its error
    used = 0;
    ranges[20].offset += std::int64_t{1} << 40;
    EXPECT_THROW(use_blocks(BlockFile(path), ranges, [&](auto, auto, auto) { ++used; }), std::system_error);
    EXPECT_LE(used, 20U);
    EXPECT_THROW(BlockFile(folder / "none"), std::system_error);
}

TEST_F(BlockStream, HasNoMoreBuffersThanItIsAllowed) {
    BlockWriter writer(path, block, 3);
    EXPECT_EQ(writer.buffer_at_once(0), nullptr);
    const std::set<std::byte*> buffers{writer.buffer_at_once(2), writer.buffer_at_once(2), writer.buffer()};
    EXPECT_EQ(buffers.size(), 3U);
    EXPECT_FALSE(buffers.contains(nullptr));
    EXPECT_EQ(writer.buffer_at_once(9), nullptr);
    std::memset(*buffers.begin(), 0, block);
    writer.write(*buffers.begin(), block, 0);
    EXPECT_EQ(writer.buffer(), *buffers.begin());
}

TEST_F(BlockStream, TellsWhatCouldNotBeWrittenAndDoesNotWaitForEver) {
    const auto gone = folder / "none";
    BlockWriter writer(gone, block, 2);
    for (int i = 0; i < 10; ++i) {
        auto* const buffer = writer.buffer();
        std::memset(buffer, 0, block);
        writer.write(buffer, block, 0);
    }
    EXPECT_THROW(writer.finish(), std::system_error);
}

TEST_F(BlockStream, TellsWhatCouldNotBeRead) {
    auto ranges = write();
    ranges[20].offset += std::int64_t{1} << 40;
    std::size_t used = 0;
    const auto count = [&](auto, auto, auto) { ++used; };
    EXPECT_THROW(read_blocks(path, ranges, count), std::system_error);
    EXPECT_LE(used, 20U);
    EXPECT_THROW(read_blocks(path, ranges,
                             [](auto i, auto, auto) {
                                 if (i == 3) throw std::domain_error("3");
                             }),
                 std::domain_error);
}

}  // namespace
}  // namespace dtrain::storage
