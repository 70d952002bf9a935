// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: the bytes that the ranks were given to write, at the offsets that they named, read as a plain file;
// the limit of a file's size that the kernel sets on one rank. Runs at 1, 2 and 4 ranks.
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/mpi_session.hpp>

#include "base/files.hpp"
#include "checkpoint/collective_file.hpp"
#include "support/message_of.hpp"
#include "support/shared_folder.hpp"
#include "support/small_files.hpp"

namespace dtrain::checkpoint {
namespace {

using testing::HasSubstr;
using tests::message_of;
using tests::SharedFolder;
using tests::SmallFiles;

/// The byte that stands at an offset.
std::byte byte_at(std::size_t offset) {
    return static_cast<std::byte>(offset * 7 % 251);
}

TEST(CollectiveFile, HasTheExtentsOfAllRanksHoweverFewBytesGoInARound) {
    constexpr std::size_t extent_bytes = 10;
    constexpr std::size_t extents_of_rank = 3;
    const SharedFolder folder;
    const auto ranks = static_cast<std::size_t>(test_world().size());
    const auto rank = static_cast<std::size_t>(test_world().rank());
    // The ranks take turns; rank 0 has one extent fewer, and so fewer rounds.
    std::vector<std::vector<std::byte>> memory;
    std::vector<storage::WriteExtent> extents;
    for (std::size_t i = 0; i < extents_of_rank - (rank == 0 ? 1 : 0); ++i) {
        const auto begin = (i * ranks + rank) * extent_bytes;
        auto& bytes = memory.emplace_back(extent_bytes);
        for (std::size_t at = 0; at < extent_bytes; ++at) bytes[at] = byte_at(begin + at);
        extents.push_back({bytes.data(), bytes.size(), static_cast<std::int64_t>(begin)});
    }
    CollectiveFile file(test_world(), folder / "all", {});
    file.write(extents, 3);
    file.close();
    const auto text = read_file((folder / "all").string());
    ASSERT_TRUE(text);
    ASSERT_EQ(text->size(), ((extents_of_rank - 1) * ranks + (ranks > 1 ? ranks : 0)) * extent_bytes);
    for (std::size_t at = 0; at < text->size(); ++at) {
        const bool is_missing = at / extent_bytes == (extents_of_rank - 1) * ranks;
        ASSERT_EQ(static_cast<std::byte>((*text)[at]), is_missing ? std::byte{0} : byte_at(at)) << at;
    }
    test_world().barrier();
}

/// What each rank learns when the disk has room for 1000 bytes, which only the first rank comes to feel.
std::string refusal(const CollectiveFile::Reserve& reserve) {
    const SharedFolder folder;
    CollectiveFile file(test_world(), folder / "small", {}, reserve);
    const std::vector<std::byte> bytes(100'000, std::byte{7});
    const std::vector<storage::WriteExtent> extents{
        {bytes.data(), bytes.size(), static_cast<std::int64_t>(bytes.size()) * test_world().rank()}};
    std::optional<SmallFiles> limit;
    if (test_world().rank() == 0) limit.emplace(1000);
    auto message = message_of<Error>([&] { file.write(extents); });
    limit.reset();
    return message;
}

TEST(CollectiveFile, WithoutRoomForAllBytesAllRanksSaySoBeforeAnythingIsWritten) {
    const auto message = refusal(reserve_space);
    EXPECT_THAT(message, HasSubstr("cannot write "));
    EXPECT_THAT(message, HasSubstr(std::to_string(100'000 * test_world().size()) + " bytes: File too large"));
}

TEST(CollectiveFile, WhereNoRoomCanBeReservedWhatDidNotArriveIsNoticedOnAllRanks) {
    // Open MPI 5 tells the rank whose write fails, and the others go on waiting for it.
    const bool is_reported = MpiSession::library_version().starts_with("Open MPI v5");
    if (is_reported && test_world().size() > 2)
        GTEST_SKIP() << "ranks of Open MPI 5 wait for one whose write failed";
    EXPECT_THAT(
        refusal([](const auto&, std::int64_t) { return false; }),
        HasSubstr(is_reported ? "MPI_File_write_at_all failed" : "what was written at 1000 is not there"));
}

TEST(CollectiveFile, ThatOneRankCannotOpenIsAnErrorOfAll) {
    const SharedFolder folder;
    const bool is_last = test_world().rank() + 1 == test_world().size();
    const auto path = is_last ? folder / "nowhere/file" : folder / "file";
    EXPECT_THAT(message_of<Error>([&] { const CollectiveFile file(test_world(), path, {}); }),
                HasSubstr("cannot write " + (folder / "nowhere/file").string()));
}

}  // namespace
}  // namespace dtrain::checkpoint
