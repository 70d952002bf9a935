// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: the bytes that buffers had when a checkpoint was begun, which random numbers repeat;
// load_checkpoint() for what a file says of them. Runs at 1, 2 and 4 ranks.
#include <algorithm>
#include <array>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/state_checkpoints.hpp>

#include "support/message_of.hpp"
#include "support/shared_folder.hpp"

namespace dtrain {
namespace {

using tests::message_of;
using tests::SharedFolder;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;

const std::map<std::string, std::string> job = {{"network", "mine"}};

/// A library's memory: a buffer of each type, one of them large enough for every rank to write a part of it.
struct Library {
    std::vector<std::vector<std::byte>> memory;
    std::vector<CheckpointBuffer> buffers;

    explicit Library(unsigned seed) {
        add("layer/weight", {1000, 1200}, DataType::float32);
        add("layer/moment", {3, 5}, DataType::float64, false);
        add("half", {7, 11, 2}, DataType::float16);
        add("brain", {}, DataType::bfloat16, true, 77);
        add("steps", {1}, DataType::int64, false);
        add("labels", {4}, DataType::int32);
        add("random", {19}, DataType::uint8, false);
        add("nothing", {0, 3}, DataType::float32);
        scramble(seed);
    }

    void add(const std::string& name, const Shape& shape, DataType type, bool is_parameter = true,
             std::size_t count = 0) {
        if (count == 0) count = static_cast<std::size_t>(element_count(shape));
        auto& bytes = memory.emplace_back(count * size_of(type));
        buffers.push_back({name, shape, {type, bytes.data(), count}, is_parameter});
    }

    void scramble(unsigned seed) {
        std::mt19937 random(seed);
        for (auto& bytes : memory)
            std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
    }
};

struct BufferWay {
    std::string name;
    CheckpointOptions options;
};

class BuffersEachWay : public testing::TestWithParam<BufferWay> {};

TEST_P(BuffersEachWay, AreRestoredToTheMomentOfTheCheckpoint) {
    const SharedFolder folder;
    Library library(1);
    {
        StateCheckpoints checkpoints(folder.path(), library.buffers, test_world(), GetParam().options);
        EXPECT_EQ(checkpoints.load_newest(job), std::nullopt);
        for (const unsigned moment : {2U, 3U}) {
            library.scramble(moment);
            checkpoints.save({.step = moment, .epoch_step = moment, .job = job},
                             {{"rate", {0.5, 1.0 * moment}}});
            library.scramble(99);  // the next step
            checkpoints.progress();
        }
        checkpoints.finish();
    }
    Library other(test_world().rank() == 0 ? 4U : 5U);
    StateCheckpoints checkpoints(folder.path(), other.buffers, test_world());
    const auto found = checkpoints.load_newest(job, [](const std::string&) { FAIL(); });
    EXPECT_EQ(found.value().step, 3);
    EXPECT_THAT(found->numbers, ElementsAre(testing::Pair("rate", ElementsAre(0.5, 3))));
    EXPECT_TRUE(other.memory == Library(3).memory);
}

TEST_P(BuffersEachWay, LieUnderTheirNames) {
    const SharedFolder folder;
    Library library(1);
    StateCheckpoints checkpoints(folder.path(), library.buffers, test_world(), GetParam().options);
    checkpoints.save({.epoch = 1});
    checkpoints.finish();
    const auto stored = load_checkpoint(checkpoints.last().value());
    EXPECT_THAT(stored.parameters,
                ElementsAre(Key("brain"), Key("half"), Key("labels"), Key("layer/weight"), Key("nothing")));
    EXPECT_THAT(stored.optimizer, ElementsAre(Key("layer/moment"), Key("random"), Key("steps")));
    EXPECT_THAT(stored.parameters.at("brain").shape, ElementsAre(77));
    const auto& half = stored.parameters.at("half");
    EXPECT_THAT(half.shape, ElementsAre(7, 11, 2));
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(std::get<std::vector<float16>>(half.values))),
                                   library.memory[2]));
}

INSTANTIATE_TEST_SUITE_P(
    All, BuffersEachWay,
    testing::Values(BufferWay{"Directory", {}}, BufferWay{"DirectoryAtOnce", {.async = false}},
                    BufferWay{"ManyShards", {.shards = 4}},
                    BufferWay{"File", {.format = CheckpointFormat::file}},
                    BufferWay{"Collective", {.format = CheckpointFormat::file, .collective = true}}),
    [](const auto& way) { return way.param.name; });

TEST(BufferCheckpoints, ADamagedOneLetsTheOneBeforeCount) {
    const SharedFolder folder;
    Library library(1);
    StateCheckpoints checkpoints(folder.path(), library.buffers, test_world());
    for (const unsigned moment : {2U, 3U}) {
        library.scramble(moment);
        checkpoints.save({.epoch = moment});
        checkpoints.finish();
    }
    if (test_world().rank() == 0) std::filesystem::resize_file(*checkpoints.last() / "shard-0000.h5", 100);
    EXPECT_EQ(checkpoints.load_newest({}).value().epoch, 2);
    EXPECT_TRUE(library.memory == Library(2).memory);
}

TEST(BufferCheckpoints, TheFirstDifferenceIsNamedAndNothingChanges) {
    const SharedFolder folder;
    std::vector<float> weight(12);
    std::vector<float> bias(3);
    StateCheckpoints writer(folder.path(), {{"w", {4, 3}, weight}, {"b", {}, bias}}, test_world());
    writer.save({.epoch = 1, .job = job});
    writer.finish();
    const auto file = writer.last().value().string();
    std::vector<double> doubles(12, 7);
    std::ranges::fill(weight, 7.0F);
    const auto refusal = [&](const std::vector<CheckpointBuffer>& buffers) {
        auto message = message_of<UsageError>(
            [&] { StateCheckpoints(folder.path(), buffers, test_world()).load_newest(job); });
        EXPECT_THAT(weight, testing::Each(7.0F));
        EXPECT_THAT(doubles, testing::Each(7.0));
        return message;
    };
    EXPECT_EQ(refusal({{"w", {3, 4}, weight}, {"b", {}, bias}}),
              file + ": w is float32 [4, 3], but this program's model needs float32 [3, 4]");
    EXPECT_EQ(refusal({{"w", {4, 3}, doubles}, {"b", {}, bias}}),
              file + ": w is float32 [4, 3], but this program's model needs float64 [4, 3]");
    EXPECT_EQ(refusal({{"w", {4, 3}, weight}, {"c", {}, bias}}),
              file + ": it has no c, which this program's model needs");
    EXPECT_EQ(refusal({{"w", {4, 3}, weight}}),
              file + ": it has b (float32 [3]), which this program has not");
}

TEST(BufferCheckpoints, WhatCannotBeSavedIsNamed) {
    const SharedFolder folder;
    std::vector<float> floats(3);
    const auto refusal = [&](const std::vector<CheckpointBuffer>& buffers) {
        return message_of<UsageError>([&] { StateCheckpoints(folder.path(), buffers, test_world()); });
    };
    EXPECT_EQ(refusal({}), "checkpoints: there is no buffer to be saved");
    EXPECT_EQ(refusal({{"w", {}, floats}, {"w", {}, floats}}), "checkpoints: there are two buffers 'w'");
    EXPECT_EQ(refusal({{"w", {2, 2}, floats}}),
              "checkpoints: buffer 'w' has 3 elements, which is not its shape [2, 2]");
    EXPECT_EQ(refusal({{"w", {-3, -1}, floats}}),
              "checkpoints: buffer 'w' has 3 elements, which is not its shape [-3, -1]");
    for (const std::string name : {"", "/w", "w/", "a//w", "a/../w"})
        EXPECT_THAT(refusal({{name, {}, floats}}), HasSubstr("'" + name + "' is no name for a buffer"));
    EXPECT_EQ(refusal({{"a/w", {}, floats}, {"a", {}, floats}}),
              "checkpoints: there are buffers 'a' and 'a/w'; a file cannot have both");
    if (test_world().size() == 1) return;
    std::vector<float16> halves(3);
    std::vector<CheckpointBuffer> buffers{{"v", {}, floats}, {"w", {}, floats}};
    if (test_world().rank() == 1) buffers[1].values = halves;
    EXPECT_EQ(refusal(buffers),
              "checkpoints: the ranks have buffers of different names or sizes or types: number 1 is "
              "/parameters/w (float32 [3]) on rank 0 and /parameters/w (float16 [3]) on rank 1");
    if (test_world().rank() == 1) buffers.pop_back();
    EXPECT_EQ(refusal(buffers), "checkpoints: rank 0 has 2 buffers and rank 1 has 1");
}

}  // namespace
}  // namespace dtrain
