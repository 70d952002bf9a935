// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: the checkpoint that the test made itself must come back equal, or the damaged file be refused by
// name.
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "storage/checkpoint_index.hpp"
#include "storage/hdf5_file.hpp"
#include "storage/sample_checkpoint.hpp"
#include "storage/shard_file.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::bytes_of;
using tests::Floats;
using tests::Integers;
using tests::message_of;
using tests::sample_checkpoint;
using tests::TemporaryFolder;
using tests::write_bytes;

/// Tensors of all sizes: empty, without shape, smaller and larger than what is aligned, split or a block.
Checkpoint all_sizes() {
    auto out = sample_checkpoint();
    out.epoch_step = 3;
    out.sums["loss"] = {0.1, 1e-300};
    out.parameters["empty"] = {{0, 7}, Floats{}};
    out.parameters["scalar"] = {{}, Floats{5}};
    Floats large(5'000'011);
    std::iota(large.begin(), large.end(), 0.5F);
    out.parameters["large"] = {{5'000'011}, large};
    Integers middle(100'000);
    std::iota(middle.begin(), middle.end(), -7);
    out.optimizer["middle"] = {{100, 10, 100}, middle};
    return out;
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) out.push_back(entry.path());
    std::sort(out.begin(), out.end());
    return out;
}

TEST(CheckpointDirectory, RoundTripForAnyNumberOfShards) {
    const TemporaryFolder folder;
    const auto checkpoint = all_sizes();
    for (const int shards : {1, 2, 3, 7}) {
        save_checkpoint_directory(folder / "a/b/one", checkpoint, shards);
        EXPECT_EQ(load_checkpoint(folder / "a/b/one"), checkpoint) << shards;
        EXPECT_EQ(files_of(folder / "a/b/one").size(), static_cast<std::size_t>(shards + 1));
        EXPECT_EQ(files_of(folder / "a/b").size(), 1U);
    }
}

template <class Value>
void expect_in_hdf5(const storage::Hdf5File& file, const std::string& name, const CheckpointTensor& tensor) {
    EXPECT_EQ(file.info(name).element, data_type_of<Value>) << name;
    EXPECT_EQ(file.info(name).shape, tensor.shape) << name;
    EXPECT_EQ(file.read<Value>(name), std::get<std::vector<Value>>(tensor.values)) << name;
}

TEST(CheckpointDirectory, HDF5ReadsEveryTypeThroughTheIndex) {
    const TemporaryFolder folder;
    const auto checkpoint = all_sizes();
    save_checkpoint_directory(folder / "one", checkpoint, 3);
    const auto file = storage::Hdf5File::open(folder / "one/index.h5");
    std::set<std::size_t> types;
    for (const auto& [group, tensors] :
         {std::pair{"/parameters/", checkpoint.parameters}, std::pair{"/optimizer/", checkpoint.optimizer}})
        for (const auto& [name, tensor] : tensors) {
            types.insert(tensor.values.index());
            std::visit([&, path = group + name]<class Value>(
                           const std::vector<Value>&) { expect_in_hdf5<Value>(file, path, tensor); },
                       tensor.values);
        }
    EXPECT_EQ(types.size(), std::variant_size_v<CheckpointTensor::Values>);
}

TEST(CheckpointDirectory, SameContentSameBytes) {
    const TemporaryFolder folder;
    for (const char* name : {"one", "two"}) save_checkpoint_directory(folder / name, all_sizes(), 2);
    for (const auto& file : files_of(folder / "one"))
        EXPECT_TRUE(bytes_of(file) == bytes_of(folder / "two" / file.filename())) << file;
}

/// Every byte when DTRAIN_STRESS is set, else some hundreds spread over the file.
std::size_t stride(std::size_t bytes) {
    return std::getenv("DTRAIN_STRESS") != nullptr ? 1 : std::max<std::size_t>(1, bytes / 397);
}

class DamagedDirectory : public testing::Test {
  protected:
    void SetUp() override { save_checkpoint_directory(path, checkpoint, 2); }

    std::string refusal() const {
        return message_of<UsageError>([&] { load_checkpoint(path); });
    }

    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "epoch-000012";
    const Checkpoint checkpoint = sample_checkpoint();
};

TEST_F(DamagedDirectory, EveryFlippedByteIsNoticed) {
    for (const auto& file : files_of(path)) {
        const auto whole = bytes_of(file);
        for (std::size_t at = 0; at < whole.size(); at += stride(whole.size())) {
            auto bytes = whole;
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
            write_bytes(file, bytes);
            ASSERT_THAT(refusal(), HasSubstr(file.string())) << "byte " << at;
        }
        write_bytes(file, whole);
    }
    EXPECT_EQ(load_checkpoint(path), checkpoint);
}

TEST_F(DamagedDirectory, EveryCutAndEveryAdditionIsNoticed) {
    for (const auto& file : files_of(path)) {
        const auto whole = bytes_of(file);
        for (std::size_t length = 0; length < whole.size(); length += stride(whole.size())) {
            write_bytes(file, whole.substr(0, length));
            ASSERT_THAT(refusal(), HasSubstr(file.string())) << length << " of " << whole.size() << " bytes";
        }
        write_bytes(file, whole + '\0');
        EXPECT_THAT(refusal(), HasSubstr(file.string()));
        std::filesystem::remove(file);
        EXPECT_THAT(refusal(), HasSubstr(file.string()));
        write_bytes(file, whole);
    }
    EXPECT_EQ(load_checkpoint(path), checkpoint);
}

// Else memory would be taken for what is nowhere.
TEST_F(DamagedDirectory, AnIndexThatSaysMoreThanTheShardsHaveIsRefused) {
    auto index = storage::read_index(path / storage::index_name);
    auto& tensor = index.tensors.at(0);
    auto& shard = index.shards.at(0);
    const auto before = shard.bytes;
    const std::int64_t rows = std::int64_t{1} << 44;
    tensor = {tensor.name, DataType::float32, {rows}};
    std::erase_if(shard.pieces, [](const storage::PieceInfo& each) { return each.piece.tensor == 0; });
    std::erase_if(index.shards.at(1).pieces,
                  [](const storage::PieceInfo& each) { return each.piece.tensor == 0; });
    shard.pieces.push_back({{0, 0, rows}, 4096, 0});
    shard.bytes = std::int64_t{1} << 50;
    storage::write_index(path / storage::index_name, index);
    EXPECT_EQ(refusal(),
              fmt::format("{}: the checkpoint is damaged ({} bytes instead of {}); resume from another one",
                          (path / "shard-0000.h5").string(), before, shard.bytes));
}

// A file may say that it is long, and have nothing in it but a hole.
TEST_F(DamagedDirectory, ShardsThatAreLargerThanTheMemoryAreRefused) {
    auto index = storage::read_index(path / storage::index_name);
    auto& shard = index.shards.at(0);
    const std::int64_t rows = std::int64_t{1} << 41;
    const auto number = index.tensors.size();
    index.tensors.push_back({"/parameters/large", DataType::float32, {rows}});
    shard.pieces.push_back({{number, 0, rows}, shard.bytes, 0});
    shard.bytes += rows * 4;
    storage::write_index(path / storage::index_name, index);
    std::error_code error;
    std::filesystem::resize_file(path / storage::shard_name(0), static_cast<std::uintmax_t>(shard.bytes),
                                 error);
    if (error) GTEST_SKIP() << "no file of " << shard.bytes << " bytes can be made here: " << error.message();
    EXPECT_THAT(refusal(), testing::MatchesRegex(path.string() + " is larger than the memory: it takes .*"));
}

TEST_F(DamagedDirectory, AnIndexThatGivesBytesToTwoTensorsIsRefused) {
    auto index = storage::read_index(path / storage::index_name);
    auto& shard = index.shards.at(0);
    const auto first = shard.pieces.at(0);
    for (int i = 0; i < 1000; ++i) {
        const auto number = index.tensors.size();
        index.tensors.push_back(index.tensors.at(first.piece.tensor));
        index.tensors.back().name += fmt::format(".{}", i);
        shard.pieces.push_back({{number, 0, index.tensors.back().rows()}, first.offset, first.sum});
    }
    storage::write_index(path / storage::index_name, index);
    EXPECT_THAT(refusal(), HasSubstr("index.h5: this index of a checkpoint makes no sense"));
}

TEST_F(DamagedDirectory, AShardOfAnotherCheckpointIsNoticed) {
    auto other = checkpoint;
    std::get<Floats>(other.parameters["fc_0.bias"].values)[1] = 0.25F;
    save_checkpoint_directory(folder / "other", other, 2);
    int differing = 0;
    for (const auto& file : files_of(path)) {
        const auto theirs = folder / "other" / file.filename().string();
        if (file.filename() == "index.h5" || bytes_of(theirs) == bytes_of(file)) continue;
        ++differing;
        write_bytes(file, bytes_of(theirs));
        EXPECT_THAT(refusal(), HasSubstr(file.string()));
    }
    EXPECT_EQ(differing, 1);
}

TEST(CheckpointDirectory, AFailureLeavesTheOldOne) {
    const TemporaryFolder folder;
    save_checkpoint_directory(folder / "one", sample_checkpoint());
    // A file stands where the temporary folder's parent should be.
    write_bytes(folder / "file", "text");
    EXPECT_THAT(
        message_of<Error>([&] { save_checkpoint_directory(folder / "file/one", sample_checkpoint()); }),
        HasSubstr("file/one"));
    EXPECT_EQ(load_checkpoint(folder / "one"), sample_checkpoint());
}

TEST(CheckpointDirectory, RefusesOtherFolders) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder / "empty");
    EXPECT_THAT(message_of([&] { load_checkpoint(folder / "empty"); }), HasSubstr("empty/index.h5"));
    std::filesystem::create_directories(folder / "other");
    std::filesystem::copy_file(DTRAIN_DIGITS, folder / "other/index.h5");
    EXPECT_THAT(message_of([&] { load_checkpoint(folder / "other"); }),
                HasSubstr("no index of a checkpoint"));
}

}  // namespace
}  // namespace dtrain
