// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: the bytes that the state had when a checkpoint was begun, whatever has become of the state since; a
// checkpoint that was not finished is as if never begun. Runs at 1, 2 and 4 ranks.
#include <chrono>
#include <cmath>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/state_checkpoints.hpp>

#include "checkpoint/restore_together.hpp"
#include "small_state.hpp"
#include "support/message_of.hpp"
#include "support/shared_folder.hpp"

namespace dtrain {
namespace {

using tests::bytes_of;
using tests::scramble;
using tests::SharedFolder;
using tests::small_state;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::map<std::string, std::string> saved_job = {{"network", "3-5-2"}};

/// @param moment the number of the epoch, and what the state's bytes are made of
void save(StateCheckpoints& checkpoints, const State& state, unsigned moment) {
    scramble(state, moment);
    checkpoints.save({.epoch = moment, .step = 10 * moment, .seed = 7, .job = saved_job});
}

std::string bytes_at(unsigned moment) {
    const auto state = small_state(0);
    scramble(state, moment);
    return bytes_of(state);
}

struct Way {
    std::string name;
    CheckpointOptions options;
};

class Ways : public testing::TestWithParam<Way> {};

TEST_P(Ways, HaveTheBytesOfTheMomentAtWhichTheyWereBegun) {
    const SharedFolder folder;
    const auto state = small_state(1);
    {
        StateCheckpoints checkpoints(folder.path(), state, test_world(), GetParam().options);
        EXPECT_EQ(checkpoints.last(), std::nullopt);
        save(checkpoints, state, 1);
        scramble(state, 99);  // the next step
        checkpoints.progress();
        checkpoints.finish();
        EXPECT_TRUE(std::filesystem::exists(checkpoints.last().value()));
    }
    const auto other = small_state(2);
    StateCheckpoints checkpoints(folder.path(), other, test_world());
    const auto found = checkpoints.load_newest(saved_job, [](const std::string&) { FAIL(); });
    EXPECT_EQ(static_cast<CheckpointHeader>(found.value()),
              (CheckpointHeader{.epoch = 1, .step = 10, .seed = 7, .job = saved_job}));
    EXPECT_TRUE(found->numbers.empty());
    EXPECT_EQ(bytes_of(other), bytes_at(1));
}

TEST_P(Ways, AreReadByAnyNumberOfRanks) {
    const SharedFolder folder;
    const auto state = small_state(1);
    StateCheckpoints checkpoints(folder.path(), state, test_world(), GetParam().options);
    save(checkpoints, state, 3);
    checkpoints.finish();
    const auto other = small_state(2);
    EXPECT_EQ(StateCheckpoints(folder.path(), other, {}).load_newest(saved_job).value().epoch, 3);
    EXPECT_EQ(bytes_of(other), bytes_at(3));
    EXPECT_EQ(load_checkpoint(*checkpoints.last()).step, 30);
}

TEST_P(Ways, HaveNumbersBesideTheState) {
    const SharedFolder folder;
    const auto state = small_state(1);
    StateCheckpoints checkpoints(folder.path(), state, test_world(), GetParam().options);
    const std::map<std::string, std::vector<double>> first{{"rate", {0.1}}};
    const std::map<std::string, std::vector<double>> second{{"callback.a b", {1, INFINITY, -0.0}},
                                                            {"rate", {0.3}}};
    for (const auto& numbers : {first, second}) {
        const auto moment = checkpoints.last() ? 2U : 1U;
        scramble(state, moment);
        checkpoints.save({.epoch = moment, .job = saved_job}, numbers);
        scramble(state, 99);
        checkpoints.finish();
        const auto found = checkpoints.load_newest(saved_job).value();
        EXPECT_EQ(found.numbers, numbers);
        EXPECT_EQ(bytes_of(state), bytes_at(moment));
    }
}

TEST_P(Ways, KeepTheLast) {
    const SharedFolder folder;
    const auto state = small_state(1);
    auto options = GetParam().options;
    options.keep = 2;
    StateCheckpoints checkpoints(folder.path(), state, test_world(), options);
    for (const unsigned moment : {1U, 2U, 3U}) save(checkpoints, state, moment);
    checkpoints.finish();
    EXPECT_THAT(CheckpointFolder(folder.path()).candidates(),
                ElementsAre(checkpoints.last().value(),
                            CheckpointFolder(folder.path()).path({.epoch = 2}, options.format)));
}

TEST(CandidatesTogether, OfAFolderThatTheFirstRankCannotRead) {
    const SharedFolder folder;
    const auto loop = folder.path() / "loop";
    if (test_world().rank() == 0) std::filesystem::create_symlink(loop, loop);
    EXPECT_THAT([&] { checkpoint::candidates_together(test_world(), CheckpointFolder(loop)); },
                ThrowsMessage<Error>(HasSubstr("cannot read " + loop.string())));
}

INSTANTIATE_TEST_SUITE_P(All, Ways,
                         testing::Values(Way{"Directory", {}}, Way{"DirectoryAtOnce", {.async = false}},
                                         Way{"OneShard", {.shards = 1}}, Way{"ManyShards", {.shards = 4}},
                                         Way{"File", {.format = CheckpointFormat::file}},
                                         Way{"Collective",
                                             {.format = CheckpointFormat::file,
                                              .collective = true,
                                              .hints = {{"cb_nodes", "1"}}}}),
                         [](const auto& way) { return way.param.name; });

TEST(StateCheckpoints, ProgressMakesThemVisibleWithoutAWait) {
    const SharedFolder folder;
    const auto state = small_state(1);
    StateCheckpoints checkpoints(folder.path(), state, test_world());
    for (const unsigned moment : {1U, 2U}) {
        save(checkpoints, state, moment);
        // How many steps that takes is the disk's affair, but all ranks take as many.
        const auto exists = [&] { return std::filesystem::exists(checkpoints.last().value()); };
        for (int step = 0; step < 5000 && !test_world().all(exists()); ++step) {
            checkpoints.progress();
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        EXPECT_TRUE(exists());
    }
    checkpoints.finish();
}

TEST(StateCheckpoints, WhatWasNotFinishedDoesNotCount) {
    const SharedFolder folder;
    const auto state = small_state(1);
    {
        StateCheckpoints checkpoints(folder.path(), state, test_world());
        save(checkpoints, state, 1);
        save(checkpoints, state, 2);
    }
    test_world().barrier();
    StateCheckpoints checkpoints(folder.path(), state, test_world());
    EXPECT_EQ(checkpoints.load_newest(saved_job).value().epoch, 1);
    EXPECT_EQ(bytes_of(state), bytes_at(1));
}

TEST(StateCheckpoints, ADamagedOneLetsTheOneBeforeCount) {
    const SharedFolder folder;
    const auto state = small_state(1);
    StateCheckpoints checkpoints(folder.path(), state, test_world());
    for (const unsigned moment : {1U, 2U}) save(checkpoints, state, moment);
    checkpoints.finish();
    if (test_world().rank() == 0) std::filesystem::resize_file(*checkpoints.last() / "shard-0000.h5", 100);
    std::vector<std::string> warnings;
    const auto found =
        checkpoints.load_newest(saved_job, [&](const std::string& warning) { warnings.push_back(warning); });
    EXPECT_EQ(found.value().epoch, 1);
    EXPECT_EQ(bytes_of(state), bytes_at(1));
    if (test_world().rank() == 0)
        EXPECT_THAT(warnings, ElementsAre(HasSubstr("shard-0000.h5")));
    else
        EXPECT_TRUE(warnings.empty());
}

TEST(StateCheckpoints, AnEmptyFolderChangesNothing) {
    const SharedFolder folder;
    const auto state = small_state(1);
    const auto before = bytes_of(state);
    EXPECT_EQ(StateCheckpoints(folder / "none", state, test_world()).load_newest(saved_job), std::nullopt);
    EXPECT_EQ(bytes_of(state), before);
}

TEST(StateCheckpoints, ThoseOfOthersAreRefusedOnAllRanks) {
    const SharedFolder folder;
    const auto state = small_state(1);
    StateCheckpoints checkpoints(folder.path(), state, test_world());
    save(checkpoints, state, 1);
    checkpoints.finish();
    const auto refusal = [&](const State& other, const std::map<std::string, std::string>& fields) {
        const auto before = bytes_of(other);
        StateCheckpoints reader(folder.path(), other, test_world());
        auto message = tests::message_of<UsageError>([&] { reader.load_newest(fields); });
        EXPECT_EQ(bytes_of(other), before);
        return message;
    };
    EXPECT_THAT(refusal(small_state(2), {{"network", "3-6-2"}}),
                HasSubstr("made with network 3-5-2, but this program has 3-6-2"));
    EXPECT_THAT(refusal(small_state(2, 6), saved_job), HasSubstr("but this program's model needs float32"));
    if (test_world().rank() == 0) std::filesystem::resize_file(*checkpoints.last() / "index.h5", 100);
    EXPECT_THAT(refusal(small_state(2), saved_job), HasSubstr("index.h5"));
}

TEST(StateCheckpoints, WhereNothingCanBeWrittenAllRanksSaySo) {
    const SharedFolder folder;
    if (test_world().rank() == 0) tests::write_bytes(folder / "file", "no folder");
    test_world().barrier();
    const auto state = small_state(1);
    for (const auto format : {CheckpointFormat::directory, CheckpointFormat::file}) {
        StateCheckpoints checkpoints(folder / "file", state, test_world(), {.format = format});
        EXPECT_THAT(tests::message_of<Error>([&] {
                        checkpoints.save({.epoch = 1, .job = saved_job});
                        checkpoints.finish();
                    }),
                    HasSubstr((folder / "file").string()));
    }
}

TEST(StateCheckpoints, ContradictionsAreRefused) {
    const SharedFolder folder;
    const auto state = small_state(1);
    const auto refusal = [&](const CheckpointOptions& options) {
        return tests::message_of<UsageError>(
            [&] { StateCheckpoints(folder.path(), state, test_world(), options); });
    };
    EXPECT_EQ(refusal({.keep = 0}), "checkpoints: keep is 0; it must be 1 or more");
    EXPECT_EQ(refusal({.shards = 0}), "checkpoints: shards is 0; it must be 1 or more");
    EXPECT_EQ(refusal({.format = CheckpointFormat::file, .shards = 2}),
              "checkpoints: shards are of a directory, but the format is a file");
    EXPECT_EQ(refusal({.collective = true}),
              "checkpoints: collective is for one file, but the format is a directory");
    EXPECT_EQ(refusal({.hints = {{"cb_nodes", "1"}}}), "checkpoints: hints are for a collective file");
}

TEST(StateCheckpoints, ACollectiveFileIsOfAllRanks) {
    if (test_world().size() == 1) GTEST_SKIP() << "a part of the ranks needs two of them";
    const SharedFolder folder;
    const auto part = test_world().split(test_world().rank() == 0 ? 0 : 1, 0);
    EXPECT_THAT(tests::message_of<UsageError>([&] {
                    StateCheckpoints(folder.path(), small_state(1), part,
                                     {.format = CheckpointFormat::file, .collective = true});
                }),
                HasSubstr("of MPI_COMM_WORLD, but the communicator has"));
}

}  // namespace
}  // namespace dtrain
