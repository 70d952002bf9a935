// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: loop.hpp: what happens in which order, for a program that multiplies its batch by two.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "train/loop.hpp"

namespace dtrain::train {
namespace {

using testing::ElementsAre;

/// Feeds the number of the batch.
class Counting final : public Feeder {
  public:
    Counting(std::vector<std::string>& events, int parts)
        : Feeder({.samples = 8 * parts,
                  .global_batch = 2 * parts,
                  .rank = 0,
                  .ranks = parts,
                  .seed = 0,
                  .order = SampleOrder::sequential,
                  .parts = parts}),
          events_(events) {}

    void bind(Executor& executor) override { to_ = executor.feed<float>("x"); }
    void start(std::int64_t epoch, std::int64_t first_step) override {
        Feeder::start(epoch, first_step);
        events_.push_back("epoch " + std::to_string(epoch) + " from " + std::to_string(first_step));
        number_ = static_cast<float>(first_step * parts());
    }
    void feed() override { std::ranges::fill(to_, number_++); }

  private:
    std::vector<std::string>& events_;
    std::span<float> to_;
    float number_ = 0;
};

/// @param output set to the name of its result
Program doubling(std::string& output) {
    Program program;
    output = layers::scale(program, layers::data(program, "x", {2}), 2.0);
    return program;
}

class LoopTest : public testing::Test {
  protected:
    LoopHooks hooks() {
        return {.executor =
                    [this](std::int64_t step) {
                        events.push_back("step " + std::to_string(step));
                        return &executor;
                    },
                .fed = [this] { events.emplace_back("fed"); },
                .computed =
                    [this](Executor& now) {
                        events.push_back(std::to_string(std::lround(now.fetch<float>(doubled)[0])));
                    },
                .goes_on = [this](std::int64_t done) { return done != stop_after; },
                .settle = [this] { events.emplace_back("settle"); }};
    }

    std::vector<std::string> events;
    std::int64_t stop_after = -1;
    std::string doubled;
    Program program = doubling(doubled);
    Executor executor{program, State(program, 1)};
};

TEST_F(LoopTest, FeedsComputesAndGoesOn) {
    Counting feeder(events, 1);
    feeder.bind(executor);
    Loop loop(parts_of(0, 1, 0));
    EXPECT_TRUE(loop.run_epoch(feeder, hooks()));
    EXPECT_THAT(events, ElementsAre("epoch 0 from 0", "step 0", "fed", "0", "step 1", "fed", "2", "step 2",
                                    "fed", "4", "step 3", "fed", "6", "settle"));
    EXPECT_EQ(loop.position(), (Position{.epoch = 0, .step = 4, .epoch_step = 4}));
    loop.end_epoch();
    EXPECT_EQ(loop.position(), (Position{.epoch = 1, .step = 4, .epoch_step = 0}));
}

TEST_F(LoopTest, StopsBetweenStepsAndGoesOnFromThere) {
    Counting feeder(events, 1);
    feeder.bind(executor);
    Loop loop(parts_of(0, 1, 0));
    stop_after = 1;
    EXPECT_FALSE(loop.run_epoch(feeder, hooks()));
    EXPECT_EQ(events.back(), "settle");
    const auto position = loop.position();
    EXPECT_EQ(position, (Position{.epoch = 0, .step = 1, .epoch_step = 1}));

    events.clear();
    Loop resumed(parts_of(0, 1, 0));
    resumed.go_on_from({.epoch = 5, .step = 21, .epoch_step = position.epoch_step});
    stop_after = 4;  // after the last step this ends nothing
    EXPECT_TRUE(resumed.run_epoch(feeder, hooks()));
    EXPECT_THAT(events, ElementsAre("epoch 5 from 1", "step 1", "fed", "2", "step 2", "fed", "4", "step 3",
                                    "fed", "6", "settle"));
    EXPECT_EQ(resumed.position(), (Position{.epoch = 5, .step = 24, .epoch_step = 4}));
}

TEST_F(LoopTest, AStepWithoutABatchCounts) {
    Counting feeder(events, 1);
    feeder.bind(executor);
    Loop loop(parts_of(0, 1, 0));
    auto skipping = hooks();
    skipping.executor = [&](std::int64_t step) { return step == 3 ? nullptr : &executor; };
    EXPECT_TRUE(loop.run_epoch(feeder, skipping));
    EXPECT_THAT(events, ElementsAre("epoch 0 from 0", "fed", "0", "fed", "2", "fed", "4", "settle"));
    EXPECT_EQ(loop.position().step, 4);
}

TEST(LoopOfVirtualRanks, ComputesTheirBatchesAndUpdatesOnce) {
    Program program;
    const auto x = layers::data(program, "x", {2, 1});
    const auto loss = layers::mean(program, layers::fc(program, x, 1, {.name = "fc"}));
    minimize(program, loss, Sgd{0.5});
    const auto shared = with_virtual_ranks(program, 2);
    State state(shared, 1);
    Executor executor(shared, state);
    const float before = executor.fetch<float>("fc.weight")[0];

    std::vector<std::string> events;
    Counting feeder(events, 2);
    feeder.bind(executor);
    Loop loop(parts_of(0, 1, 2));
    int batches = 0;
    loop.run_epoch(feeder, {.executor = [&](std::int64_t) { return &executor; },
                            .fed = {},
                            .computed = [&](Executor&) { ++batches; },
                            .goes_on = [](std::int64_t) { return false; },
                            .settle = [] {}});
    EXPECT_EQ(batches, 2);
    EXPECT_EQ(loop.position().step, 1);
    // The gradient of the mean of w * x is the mean of x: 0 in the first batch, 1 in the second.
    EXPECT_FLOAT_EQ(executor.fetch<float>("fc.weight")[0], before - 0.5F * 0.5F);
}

TEST(EndOfAnEpoch, ALossThatIsNoNumberIsAnError) {
    EXPECT_NO_THROW(check_loss(0.5, 1, {}));
    EXPECT_THROW(check_loss(std::nan(""), 1, {}), Error);
    EXPECT_THROW(check_loss(INFINITY, 3, {}), Error);
}

TEST(ThePartsOfRanks, DivideTheGlobalBatch) {
    EXPECT_EQ(parts_of(1, 3, 0).first, 1);
    EXPECT_FALSE(parts_of(1, 3, 0).are_virtual);
    EXPECT_EQ(parts_of(0, 2, 5).own + parts_of(1, 2, 5).own, 5);
    EXPECT_EQ(parts_of(1, 2, 5).first, parts_of(0, 2, 5).own);
    EXPECT_THROW(parts_of(0, 4, 3), UsageError);
}

}  // namespace
}  // namespace dtrain::train
