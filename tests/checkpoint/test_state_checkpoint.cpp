// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: a state that went through a checkpoint must have the same bits; a checkpoint of another job must be
// refused and change nothing; from a damaged one nothing may stay, the one before it counts.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/state_checkpoints.hpp>

#include "checkpoint/state_checkpoint.hpp"
#include "small_state.hpp"
#include "storage/checkpoint_index.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::native {
namespace {

using checkpoint::check_fits;
using checkpoint::read_into;
using checkpoint::restore_first;

using tests::bytes_of;
using tests::scramble;
using tests::small_state;

using testing::HasSubstr;

const std::map<std::string, std::string> job = {{"model", "3-5-2 relu"}, {"global_batch", "64"}};

Checkpoint checkpoint_of(const State& state) {
    return to_checkpoint(state, {.job = job});
}

std::string refusal(const Checkpoint& checkpoint, const State& state) {
    return tests::message_of([&] { check_fits({"old.h5", checkpoint}, job, state); });
}

TEST(StateAndCheckpoint, ThroughAFileAndBackEveryBitIsTheSame) {
    const tests::TemporaryFolder folder;
    const auto from = small_state(1);
    scramble(from, 7);
    const CheckpointHeader header{.epoch = 2, .step = 5, .seed = 9, .job = job};
    save_checkpoint(folder.path() / "state.h5", to_checkpoint(from, header));
    const auto checkpoint = load_checkpoint(folder.path() / "state.h5");
    EXPECT_EQ(static_cast<const CheckpointHeader&>(checkpoint), header);
    const auto to = small_state(2);
    restore(to, checkpoint);
    EXPECT_EQ(bytes_of(to), bytes_of(from));
}

TEST(StateAndCheckpoint, WhatDoesNotFitIsNamedAndChangesNothing) {
    const auto state = small_state(2);
    const auto before = bytes_of(state);
    const auto refused = [&state](const Checkpoint& checkpoint) {
        return tests::message_of([&] { restore(state, checkpoint); });
    };
    auto without = to_checkpoint(small_state(1));
    without.optimizer.erase("adam.step");
    EXPECT_EQ(refused(without), "the checkpoint: it has no 'adam.step', which is to be loaded");
    EXPECT_EQ(refused(to_checkpoint(small_state(1, 6))),
              "the checkpoint: 'fc_0.weight' is float32 [3, 6], expected float32 [3, 5]");
    auto shorter = to_checkpoint(small_state(1));
    std::get<std::vector<float>>(shorter.parameters.at("fc_1.bias").values).pop_back();
    EXPECT_EQ(refused(shorter), "the checkpoint: 'fc_1.bias' [2] has 1 values, expected 2");
    auto wider = to_checkpoint(small_state(1));
    wider.parameters.at("fc_0.bias").values = std::vector<double>(5);
    EXPECT_EQ(refused(wider), "the checkpoint: 'fc_0.bias' is float64 [5], expected float32 [5]");
    EXPECT_EQ(bytes_of(state), before);
}

TEST(StateAndCheckpoint, AStateOfPartOfTheTensorsTakesThose) {
    const auto from = small_state(1);
    const auto to = small_state(2, 5, Sgd{});  // no moments
    restore(to, to_checkpoint(from));
    EXPECT_EQ(parameters_checksum(to), parameters_checksum(from));
}

TEST(CheckpointOfState, RestoresEveryBit) {
    const auto from = small_state(1);
    for (const auto& tensor : from.tensors())
        if (tensor.view.type == DataType::int64) tensor.view.as<std::int64_t>()[0] = 77;
    const auto to = small_state(2);
    ASSERT_NE(parameters_checksum(from), parameters_checksum(to));
    const auto checkpoint = checkpoint_of(from);
    const storage::StoredCheckpoint stored("old.h5", checkpoint);
    check_fits(stored, job, to);
    read_into(to, stored);
    EXPECT_EQ(parameters_checksum(from), parameters_checksum(to));
    EXPECT_EQ(checkpoint_of(to), checkpoint);
    EXPECT_EQ(checkpoint.parameters.size(), 4U);
    EXPECT_GE(checkpoint.optimizer.size(), 8U);
}

TEST(CheckpointOfState, RefusesAnotherJob) {
    const auto state = small_state(1);
    auto other = checkpoint_of(state);
    other.job["global_batch"] = "32";
    EXPECT_EQ(refusal(other, state),
              "old.h5: made with global_batch 32, but this job has 64; set global_batch = 32");
    other = checkpoint_of(state);
    other.job["last_batch"] = "drop";
    EXPECT_EQ(refusal(other, state), "old.h5: made with last_batch drop, but this job has none");
    other = checkpoint_of(state);
    other.job.erase("model");
    EXPECT_EQ(refusal(other, state), "old.h5: made with model unknown, but this job has 3-5-2 relu");
}

TEST(CheckpointOfState, RefusesAnotherShapeOrOptimizer) {
    const auto state = small_state(1);
    EXPECT_THAT(refusal(checkpoint_of(small_state(2, 6)), state), HasSubstr("but this job's model needs"));
    EXPECT_THAT(refusal(checkpoint_of(small_state(2, 5, Sgd{})), state), HasSubstr("it has no"));
    auto other = checkpoint_of(small_state(2));
    auto& tensor = other.parameters.begin()->second;
    const auto count = std::get<std::vector<float>>(tensor.values).size();
    tensor.values = std::vector<std::int64_t>(count);
    EXPECT_THAT(refusal(other, state), HasSubstr("but this job's model needs float32"));
}

/// A program with state of every type.
State state_of_all_types() {
    Program program;
    program.add({.name = "single", .shape = {2, 3}, .role = Role::parameter});
    program.add({.name = "double", .shape = {5}, .type = DataType::float64, .role = Role::parameter});
    program.add({.name = "long", .shape = {1}, .type = DataType::int64, .role = Role::optimizer_state});
    program.add({.name = "short", .shape = {7}, .type = DataType::int32, .role = Role::optimizer_state});
    program.add({.name = "count", .shape = {4, 2}, .type = DataType::float64, .role = Role::metric});
    return State(program, 0);
}

class CheckpointFormats : public testing::TestWithParam<CheckpointFormat> {};

TEST_P(CheckpointFormats, HoldEveryType) {
    const tests::TemporaryFolder folder;
    const auto from = state_of_all_types();
    scramble(from, 3);
    const auto path = CheckpointFolder(folder.path()).save(checkpoint_of(from), 1, GetParam());
    const auto to = state_of_all_types();
    const auto restored = restore_first({path}, job, to, [](const std::string&) { FAIL(); });
    EXPECT_EQ(restored.file, path);
    EXPECT_EQ(bytes_of(to), bytes_of(from));
}

// How many numbers there are, beside the state, is known from the checkpoint alone.
TEST(CheckpointOfState, NumbersThatItsFilesDoNotHaveTakeNoMemory) {
    const tests::TemporaryFolder folder;
    const auto state = small_state(1);
    const auto path =
        CheckpointFolder(folder.path()).save(checkpoint_of(state), 1, CheckpointFormat::directory);
    auto index = storage::read_index(path / storage::index_name);
    auto& shard = index.shards.at(0);
    const std::int64_t rows = std::int64_t{1} << 45;
    const auto number = index.tensors.size();
    index.tensors.push_back({std::string(storage::optimizer_group) + "sums", DataType::float64, {rows}});
    shard.pieces.push_back({{number, 0, rows}, shard.bytes, 0});
    shard.bytes += rows * 8;
    storage::write_index(path / storage::index_name, index);
    const auto refusal_of_it = [&] {
        return tests::message_of<UsageError>([&] { restore_first({path}, job, state, {}); });
    };
    EXPECT_THAT(refusal_of_it(), HasSubstr("shard-0000.h5: the checkpoint is damaged ("));
}

/// All positions under DTRAIN_STRESS, else the first and last of each file, those around every change between
/// HDF5's own bytes and values, and some at random.
std::set<std::size_t> positions(const std::string& content, const std::string& values) {
    std::set<std::size_t> out;
    if (std::getenv("DTRAIN_STRESS") != nullptr) {
        for (std::size_t at = 0; at < content.size(); ++at) out.insert(at);
        return out;
    }
    const auto around = [&](std::size_t boundary) {
        for (const auto at : {boundary - 1, boundary})
            if (at < content.size()) out.insert(at);
    };
    around(0);
    around(content.size());
    around(content.find('\n') + 1);       // of an index: where its JSON begins,
    around(content.find("\x89HDF\r\n"));  // and where HDF5's own does
    for (std::size_t at = 0; at + 8 <= values.size(); at += 8)
        if (const auto found = content.find(values.substr(at, 8)); found != std::string::npos) {
            around(found);
            around(found + 8);
        }
    std::mt19937 random(5);
    while (out.size() < std::min<std::size_t>(content.size(), 200)) out.insert(random() % content.size());
    return out;
}

TEST_P(CheckpointFormats, AnyDamageLetsTheOneBeforeCount) {
    const tests::TemporaryFolder folder;
    const CheckpointFolder checkpoints(folder.path());
    const auto state = state_of_all_types();
    const auto save = [&](unsigned seed) {
        scramble(state, seed);
        auto checkpoint = checkpoint_of(state);
        checkpoint.epoch = seed;
        return checkpoints.save(checkpoint, 2, GetParam());
    };
    save(1);
    const auto before = bytes_of(state);
    const auto newest = save(2);
    const auto after = bytes_of(state);
    std::vector<std::filesystem::path> files = {newest};
    if (std::filesystem::is_directory(newest)) {
        files.clear();
        for (const auto& entry : std::filesystem::directory_iterator(newest)) files.push_back(entry.path());
    }
    const auto check = [&](const std::filesystem::path& file, std::size_t at) {
        scramble(state, 77);
        int warned = 0;
        const auto restored =
            restore_first(checkpoints.candidates(), job, state, [&](const std::string&) { ++warned; });
        ASSERT_EQ(warned, 1) << file << " at " << at;
        ASSERT_EQ(restored.header.epoch, 1) << file << " at " << at;
        ASSERT_EQ(bytes_of(state), before) << file << " at " << at;
    };
    for (const auto& file : files) {
        const auto whole = tests::bytes_of(file);
        for (const auto at : positions(whole, after)) {
            auto flipped = whole;
            flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
            tests::write_bytes(file, flipped);
            check(file, at);
            tests::write_bytes(file, whole.substr(0, at));
            check(file, at);
        }
        tests::write_bytes(file, whole);
    }
    EXPECT_EQ(restore_first(checkpoints.candidates(), job, state, {}).header.epoch, 2);
    EXPECT_EQ(bytes_of(state), after);
}

INSTANTIATE_TEST_SUITE_P(All, CheckpointFormats,
                         testing::Values(CheckpointFormat::directory, CheckpointFormat::file),
                         [](const auto& format) {
                             return std::string(format.param == CheckpointFormat::file ? "File"
                                                                                       : "Directory");
                         });

}  // namespace
}  // namespace dtrain::native
