// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: the checkpoint that the test made itself must come back equal, or the file be refused by name.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "storage/hdf5_file.hpp"
#include "storage/released_checkpoints.hpp"
#include "storage/sample_checkpoint.hpp"
#include "storage/save_as_ranks.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::bytes_of;
using tests::message_of;
using tests::sample_checkpoint;
using tests::TemporaryFolder;
using tests::write_bytes;

TEST(Checkpoint, RoundTripWithinAnEpoch) {
    const TemporaryFolder folder;
    auto checkpoint = sample_checkpoint();
    checkpoint.epoch_step = 7;
    checkpoint.sums = {{"loss", {0.1, -0.0, 1e300}}, {"correct", {3}}};
    save_checkpoint(folder / "one.h5", checkpoint);
    EXPECT_EQ(load_checkpoint(folder / "one.h5"), checkpoint);
}

TEST(Checkpoint, RoundTrip) {
    const TemporaryFolder folder;
    const auto path = folder / "a/b/one.h5";
    save_checkpoint(path, sample_checkpoint());
    EXPECT_EQ(load_checkpoint(path), sample_checkpoint());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "a/b"), {}), 1);
}

TEST(Checkpoint, SameContentSameBytes) {
    const TemporaryFolder folder;
    save_checkpoint(folder / "one.h5", sample_checkpoint());
    ::usleep(1'100'000);  // HDF5 counts time in seconds
    save_checkpoint(folder / "two.h5", sample_checkpoint());
    EXPECT_TRUE(bytes_of(folder / "one.h5") == bytes_of(folder / "two.h5"));
    auto other = sample_checkpoint();
    other.step++;
    save_checkpoint(folder / "two.h5", other);
    EXPECT_FALSE(bytes_of(folder / "one.h5") == bytes_of(folder / "two.h5"));
    EXPECT_EQ(load_checkpoint(folder / "two.h5"), other);
}

/// What dtrain 0.1 wrote on one rank; test_checkpoint_file.cpp has what is written today.
std::string released_bytes() {
    return bytes_of(std::filesystem::path(DTRAIN_RELEASED) / "0.1-format-1.h5");
}

TEST(ReleasedCheckpoint, EveryFlippedByteIsNoticedOrHarmless) {
    const TemporaryFolder folder;
    const auto path = folder / "one.h5";
    const auto whole = released_bytes();
    int refused = 0;
    // Every third one by default, so that each of the eight bits has its turn.
    const std::size_t step = std::getenv("DTRAIN_STRESS") != nullptr ? 1 : 3;
    for (std::size_t at = 0; at < whole.size(); at += step) {
        auto bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
        write_bytes(path, bytes);
        try {
            EXPECT_EQ(load_checkpoint(path), tests::between_epochs()) << "byte " << at;
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), HasSubstr(path.string())) << "byte " << at;
            ++refused;
        }
    }
    EXPECT_GT(refused, 150);
}

TEST(ReleasedCheckpoint, EveryCutIsRefused) {
    const TemporaryFolder folder;
    const auto path = folder / "one.h5";
    const auto whole = released_bytes();
    const std::size_t step = std::getenv("DTRAIN_STRESS") != nullptr ? 1 : 3;
    for (std::size_t length = 0; length < whole.size(); length += step) {
        std::filesystem::remove(path);
        write_bytes(path, whole.substr(0, length));
        EXPECT_THAT(message_of<UsageError>([&] { load_checkpoint(path); }), HasSubstr(path.string()))
            << length << " of " << whole.size() << " bytes";
    }
}

TEST(ReleasedCheckpoint, AValueThatAnotherToolChangedIsNoticed) {
    const TemporaryFolder folder;
    const auto path = folder / "one.h5";
    auto bytes = released_bytes();
    const float before = 0.2F, now = 0.25F;  // of fc_0.bias
    const std::string from(reinterpret_cast<const char*>(&before), 4),
        to(reinterpret_cast<const char*>(&now), 4);
    const auto at = bytes.find(from);
    ASSERT_NE(at, std::string::npos);
    write_bytes(path, bytes.replace(at, 4, to));
    EXPECT_THAT(message_of<UsageError>([&] { load_checkpoint(path); }), HasSubstr("checksum"));
}

TEST(Checkpoint, ARankAloneWritesWhatManyWriteTogether) {
    const TemporaryFolder folder;
    save_checkpoint(folder / "alone.h5", sample_checkpoint());
    tests::save_as_ranks(folder / "together.h5", sample_checkpoint(), 3, 32 << 20);
    EXPECT_TRUE(bytes_of(folder / "alone.h5") == bytes_of(folder / "together.h5"));
}

TEST(Checkpoint, RefusesOtherFiles) {
    const TemporaryFolder folder;
    const auto refused = [](const std::filesystem::path& path) {
        return message_of<UsageError>([&] { load_checkpoint(path); });
    };
    EXPECT_THAT(refused(folder / "none.h5"), HasSubstr("No such file"));
    EXPECT_THAT(refused(DTRAIN_DIGITS), HasSubstr("no checkpoint of dtrain"));
    {
        auto file = storage::Hdf5File::create(folder / "newer.h5");
        file.write_text("/", "format", "dtrain checkpoint 9");
        file.close();
    }
    EXPECT_THAT(refused(folder / "newer.h5"), HasSubstr("format 'dtrain checkpoint 9'"));
}

TEST(Checkpoint, AFailureLeavesNothingBehind) {
    const TemporaryFolder folder;
    // A folder stands where the file should go.
    std::filesystem::create_directories(folder / "one.h5/inside");
    EXPECT_THAT(message_of<Error>([&] { save_checkpoint(folder / "one.h5", sample_checkpoint()); }),
                HasSubstr("one.h5"));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
    // A file stands where a folder should be.
    write_bytes(folder / "file", "text");
    EXPECT_THAT(message_of<Error>([&] { save_checkpoint(folder / "file/one.h5", sample_checkpoint()); }),
                HasSubstr("file/one.h5"));
}

}  // namespace
}  // namespace dtrain
