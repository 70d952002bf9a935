// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: the checkpoint that the test made itself must come back equal, or the file be refused by name; the
// file must be the same whatever number of ranks has written it.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "storage/block_io.hpp"
#include "storage/checkpoint_index.hpp"
#include "storage/sample_checkpoint.hpp"
#include "storage/save_as_ranks.hpp"
#include "storage/stored_checkpoint.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::storage {
namespace {

using testing::HasSubstr;
using tests::bytes_of;
using tests::message_of;
using tests::sample_checkpoint;
using tests::save_as_ranks;
using tests::TemporaryFolder;
using tests::write_bytes;

Checkpoint larger_checkpoint() {
    auto out = sample_checkpoint();
    out.epoch_step = 3;
    out.sums["loss"] = {0.1, 1e-300};
    tests::Floats large(500'000);
    std::iota(large.begin(), large.end(), 0.5F);
    out.parameters["large"] = {{1000, 500}, large};
    out.parameters["empty"] = {{0, 7}, tests::Floats{}};
    return out;
}

TEST(CheckpointFile, RoundTripAndTheSameBytesFromAnyNumberOfRanks) {
    const TemporaryFolder folder;
    const auto checkpoint = larger_checkpoint();
    const auto pieces = save_as_ranks(folder / "1.h5", checkpoint, 1);
    EXPECT_GT(pieces.size(), checkpoint.parameters.size() + checkpoint.optimizer.size() + 5);
    EXPECT_EQ(load_checkpoint(folder / "1.h5"), checkpoint);
    for (const int ranks : {2, 3, 40}) {
        save_as_ranks(folder / "n.h5", checkpoint, ranks);
        EXPECT_TRUE(bytes_of(folder / "n.h5") == bytes_of(folder / "1.h5")) << ranks;
    }
}

TEST(CheckpointFile, WhatNobodyWantsIsCheckedAllTheSame) {
    const TemporaryFolder folder;
    const auto path = folder / "one.h5";
    const auto pieces = save_as_ranks(path, larger_checkpoint(), 2);
    const StoredCheckpoint stored(path);
    const std::vector<std::byte*> nowhere(stored.tensors().size());
    EXPECT_NO_THROW(stored.read(nowhere));
    auto bytes = bytes_of(path);
    bytes[static_cast<std::size_t>(pieces.back().offset) + 1] ^= 1;
    write_bytes(path, bytes);
    EXPECT_THROW(stored.read(nowhere), UsageError);
}

TEST(CheckpointFile, HDF5ReadsIt) {
    const TemporaryFolder folder;
    save_as_ranks(folder / "one.h5", larger_checkpoint(), 2);
    const auto file = Hdf5File::open(folder / "one.h5");
    EXPECT_EQ(file.read<float>("/parameters/large"),
              std::get<tests::Floats>(larger_checkpoint().parameters.at("large").values));
    EXPECT_EQ(file.read<double>("/optimizer/auc.positives"),
              std::get<tests::Doubles>(larger_checkpoint().optimizer.at("auc.positives").values));
    EXPECT_EQ(file.read_integer("/", "epoch"), 12);
}

/// All positions under DTRAIN_STRESS, else those around each boundary of what is checked apart, and every
/// 97th.
std::set<std::size_t> positions(std::size_t bytes, const std::vector<PieceInfo>& pieces,
                                const std::vector<TensorInfo>& tensors) {
    std::set<std::size_t> out;
    const std::size_t stride = std::getenv("DTRAIN_STRESS") != nullptr ? 1 : 97;
    for (std::size_t at = 0; at < bytes; at += stride) out.insert(at);
    std::vector<std::int64_t> boundaries = {1, 60, 4096, static_cast<std::int64_t>(bytes)};
    for (const auto& [piece, offset, sum] : pieces)
        boundaries.insert(boundaries.end(),
                          {offset, offset + piece.rows * tensors[piece.tensor].row_bytes()});
    for (const auto boundary : boundaries)
        for (const auto at : {boundary - 1, boundary})
            if (at < static_cast<std::int64_t>(bytes)) out.insert(static_cast<std::size_t>(at));
    return out;
}

TEST(CheckpointFile, EveryFlippedOrMissingByteIsNoticed) {
    const TemporaryFolder folder;
    const auto path = folder / "one.h5";
    const auto pieces = save_as_ranks(path, sample_checkpoint(), 2);
    const auto whole = bytes_of(path);
    const auto refusal = [&] { return message_of<UsageError>([&] { load_checkpoint(path); }); };
    for (const auto at : positions(whole.size(), pieces, StoredCheckpoint(path).tensors())) {
        auto bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
        write_bytes(path, bytes);
        ASSERT_THAT(refusal(), HasSubstr(path.string())) << "byte " << at;
        write_bytes(path, whole.substr(0, at));
        ASSERT_THAT(refusal(), HasSubstr(path.string())) << at << " of " << whole.size() << " bytes";
    }
    write_bytes(path, whole + '\0');
    EXPECT_THAT(refusal(), HasSubstr(path.string()));
    write_bytes(path, whole);
    EXPECT_EQ(load_checkpoint(path), sample_checkpoint());
}

}  // namespace
}  // namespace dtrain::storage
