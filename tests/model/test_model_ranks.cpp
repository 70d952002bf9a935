// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: one process that has the whole batch (to rounding), and, with virtual ranks, the same bits. Runs at
// 1, 2 and 4 ranks.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/batches.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/model.hpp>

#include "small_models.hpp"
#include "support/message_of.hpp"
#include "support/shared_folder.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::SharedFolder;

TEST(BatchesRanks, EverySampleCountsOnce) {
    std::vector<float> x(11);
    std::iota(x.begin(), x.end(), 1.0F);
    const Dataset data(x, std::vector<std::int64_t>(11, 0), 1);
    Program program;
    const auto samples = layers::data(program, "x", {3});
    const auto label = layers::data(program, "label", {3}, DataType::int64);
    const auto weight = layers::data(program, "weight", {3});
    const auto sum = layers::weighted_sum(program, samples, weight);
    Executor executor(program, State(program, 1));
    Batches batches(executor, data, test_world(),
                    {.x = samples, .label = label, .weight = weight, .seed = 4});
    const std::int64_t of_a_step = std::int64_t{3} * test_world().size();
    EXPECT_EQ(batches.steps(), (11 + of_a_step - 1) / of_a_step);
    EXPECT_EQ(batches.sum(sum), 66);
}

TEST(ModelRanks, LearnWhatOneProcessLearns) {
    const auto data = three_classes(50);
    auto alone = prepared_model({}, Sgd{0.2});
    auto together = prepared_model({.communicator = test_world()}, Sgd{0.2});
    // 16 is a multiple of the ranks, but 50 is none of 16: padding is there.
    const auto expected = alone.fit(data, {.eval = data, .epochs = 4, .batch_size = 16});
    const auto history = together.fit(data, {.eval = data, .epochs = 4, .batch_size = 16});
    ASSERT_EQ(history.size(), expected.size());
    for (std::size_t i = 0; i < history.size(); ++i) {
        EXPECT_NEAR(history[i].train.loss, expected[i].train.loss, 1e-5);
        EXPECT_NEAR(history[i].eval->loss, expected[i].eval->loss, 1e-5);
        EXPECT_EQ(history[i].eval->samples, 50);
    }
    EXPECT_LT(history.back().train.loss, history.front().train.loss);
    EXPECT_TRUE(parameters_are_identical(together.state(), test_world()));
    const auto mine = together.predict(data);
    const auto others = alone.predict(data);
    ASSERT_EQ(mine.shape, others.shape);
    for (std::size_t i = 0; i < mine.values.size(); ++i)
        ASSERT_NEAR(mine.values[i], others.values[i], 1e-4) << i;
}

TEST(ModelRanks, ARankThatServesDoesNotTrainWithoutServers) {
    const auto data = three_classes(8);
    auto model = prepared_model({.communicator = test_world()}, Sgd{0.2});
    if (test_world().rank() == 0) ::setenv("TRAINING_ROLE", "PSERVER", 1);
    const auto message = tests::message_of<Error>([&] { model.fit(data, {.epochs = 1, .batch_size = 4}); });
    ::unsetenv("TRAINING_ROLE");
    EXPECT_THAT(message, HasSubstr("is a parameter server of the job"));
    EXPECT_THAT(message, HasSubstr("set ModelOptions::servers, or start the job without --server_num"));
    EXPECT_EQ(model.fit(data, {.epochs = 1, .batch_size = 4}).size(), 1U);
}

TEST(ModelRanks, VirtualRanksHaveTheBitsOfOneRank) {
    const auto data = three_classes(50);
    const auto run = [&](const Communicator& communicator) {
        auto model = prepared_model({.communicator = communicator, .virtual_ranks = 4});
        auto history = model.fit(data, {.eval = data, .epochs = 3, .batch_size = 18});
        auto predicted = model.predict(data).values;
        return std::tuple(model.checkpoint(), std::move(history), std::move(predicted));
    };
    const auto [checkpoint, history, predicted] = run(test_world());
    const auto [of_one, history_of_one, predicted_by_one] = run({});
    EXPECT_EQ(checkpoint, of_one);
    ASSERT_EQ(history.size(), history_of_one.size());
    for (std::size_t i = 0; i < history.size(); ++i) {
        EXPECT_EQ(history[i].train, history_of_one[i].train);
        EXPECT_EQ(history[i].eval, history_of_one[i].eval);
    }
    EXPECT_EQ(predicted, predicted_by_one);
}

TEST(ModelRanks, TheAreaUnderTheCurveIsOverAllRanks) {
    std::vector<float> x;
    std::vector<float> clicked;
    for (int i = 0; i < 30; ++i) {
        x.push_back(static_cast<float>(std::sin(1.7 * i)));
        clicked.push_back(std::sin(1.7 * i + 0.8) > 0 ? 1.0F : 0.0F);
    }
    const Samples samples{{"x", std::span<const float>(x)}, {"y", std::span<const float>(clicked)}};
    const auto area = [&](const Communicator& communicator) {
        Model model([](Program& program, const std::string& in) { return layers::fc(program, in, 1); },
                    {"x", {1}}, {"y", {1}}, {.communicator = communicator});
        model.prepare(Adam{}, BCEWithLogitsLoss{}, {AreaUnderCurve{}});
        return model.evaluate(samples, {.batch_size = 8}).metrics.at("auc");
    };
    EXPECT_EQ(area(test_world()), area({}));
    EXPECT_NE(area({}), 0.5);
}

TEST(ModelRanks, AMetricThatIsGivenTwiceCountsOnce) {
    const auto data = three_classes(30);
    auto model = small_model({.communicator = test_world()});
    model.prepare(Sgd{}, CrossEntropyLoss{}, {Accuracy{}, Accuracy{}});
    EXPECT_EQ(model.evaluate(data).metrics, prepared_model().evaluate(data).metrics);
}

TEST(ModelRanks, CheckpointsAreOfOneJobAndRanksMayChange) {
    const SharedFolder folder;
    const auto& world = test_world();
    const auto data = three_classes(40);
    const ModelOptions options{.communicator = world, .virtual_ranks = 4};
    auto undisturbed = prepared_model(options);
    undisturbed.fit(data, {.epochs = 4, .batch_size = 8});
    auto model = prepared_model(options);
    model.fit(data,
              {.epochs = 3,
               .batch_size = 8,
               .callbacks = {std::make_shared<Checkpoints>(folder.path(), Checkpoints::Options{.keep = 1})}});
    auto resumed = prepared_model(options);
    EXPECT_EQ(resumed.load_newest(folder.path()), folder / "epoch-000003.h5");
    EXPECT_EQ(resumed.epochs_done(), 3);
    resumed.fit(data, {.epochs = 1, .batch_size = 8});
    EXPECT_EQ(parameters_checksum(resumed.state()), parameters_checksum(undisturbed.state()));
    auto alone = prepared_model({.virtual_ranks = 4});
    alone.load(folder / "epoch-000003.h5");
    alone.fit(data, {.epochs = 1, .batch_size = 8});
    EXPECT_EQ(parameters_checksum(alone.state()), parameters_checksum(undisturbed.state()));
}

TEST(ModelRanks, EachRankWritesItsPartOfADirectory) {
    const SharedFolder folder;
    const auto data = three_classes(45);
    const auto& world = test_world();
    auto model = prepared_model({.communicator = world});
    const Checkpoints::Options options{
        .keep = 1, .format = CheckpointFormat::directory, .shards = world.size()};
    model.fit(
        data,
        {.epochs = 3, .batch_size = 8, .callbacks = {std::make_shared<Checkpoints>(folder.path(), options)}});
    EXPECT_TRUE(std::filesystem::exists(folder / "latest"));
    const auto stored = folder / "epoch-000003";
    EXPECT_TRUE(std::filesystem::exists(stored / fmt::format("shard-{:04}.h5", world.size() - 1)));
    EXPECT_FALSE(std::filesystem::exists(stored / fmt::format("shard-{:04}.h5", world.size())));
    auto alone = prepared_model({});
    alone.load(stored);
    EXPECT_EQ(alone.checkpoint(), model.checkpoint());
    model.set_learning_rate(0.25);
    model.fit(data, {.batch_size = 8, .callbacks = {std::make_shared<Checkpoints>(folder.path(), options)}});
    alone.load(folder / "epoch-000004");
    EXPECT_EQ(alone.learning_rate(), 0.25);
    EXPECT_EQ(alone.checkpoint(), model.checkpoint());
    const auto refusal = [&](const Checkpoints::Options& contradiction) {
        return tests::message_of([&] {
            model.fit(data, {.callbacks = {std::make_shared<Checkpoints>(folder.path(), contradiction)}});
        });
    };
    EXPECT_THAT(refusal({.shards = 2}), HasSubstr("shards are of a directory"));
    EXPECT_EQ(model.epochs_done(), 4);
}

TEST(ModelRanks, RanksMayActTogetherBetweenStepsAndAtTheEnd) {
    struct Counting final : Callback {
        bool on_epoch_end(Model& /*model*/, const EpochRecord& /*record*/) override { return true; }
        void between_steps(Model& model) override { steps += model.communicator().sum(std::int64_t{1}); }
        void on_finish(Model& model) override { ends += model.communicator().sum(std::int64_t{1}); }
        void on_end(Model& /*model*/, const std::exception* failure) noexcept override {
            has_failed = failure;
        }
        std::int64_t steps = 0;
        std::int64_t ends = 0;
        bool has_failed = false;
    };
    const auto counting = std::make_shared<Counting>();
    const std::int64_t ranks = test_world().size();
    auto model = prepared_model({.communicator = test_world()});
    model.fit(three_classes(32), {.epochs = 2, .batch_size = 8, .callbacks = {counting}});
    EXPECT_EQ(counting->steps, 8 * ranks);
    EXPECT_EQ(counting->ends, ranks);
    struct Failing final : Callback {
        bool on_epoch_end(Model& /*model*/, const EpochRecord& /*record*/) override { throw Error("full"); }
    };
    EXPECT_THROW(model.fit(three_classes(32), {.callbacks = {counting, std::make_shared<Failing>()}}), Error);
    EXPECT_EQ(counting->ends, ranks);
    EXPECT_TRUE(counting->has_failed);
}

TEST(ModelRanks, RatesAreThoseOfTheFirstRankAndGoOnFromItsCheckpoint) {
    const SharedFolder folder;
    const auto data = three_classes(50);
    const auto run = [&](const Communicator& ranks, Model& model, std::int64_t epochs) {
        const auto function = [rank = ranks.rank()](const NextStep& next) { return next.rate * 0.9 + rank; };
        model.fit(data, {.eval = data,
                         .epochs = epochs,
                         .batch_size = 18,
                         .callbacks = {std::make_shared<RateFunction>(function),
                                       std::make_shared<ReduceOnPlateau>(ReduceOnPlateau::Options{
                                           .factor = 0.5, .patience = 2, .min_delta = 100})}});
    };
    const auto& world = test_world();
    auto alone = prepared_model({.virtual_ranks = 4}, Adam{0.1});
    run({}, alone, 4);
    auto first = prepared_model({.communicator = world, .virtual_ranks = 4}, Adam{0.1});
    run(world, first, 2);
    first.save(folder / "model.h5");
    auto second = prepared_model({.communicator = world, .virtual_ranks = 4}, Adam{0.1});
    second.load(world.rank() == 0 ? folder / "model.h5" : "nowhere.h5");
    run(world, second, 2);
    EXPECT_EQ(second.checkpoint(), alone.checkpoint());
    EXPECT_LT(alone.learning_rate().value(), 0.1);
}

TEST(ModelRanks, ARateThatTheFirstRankRefusesIsRefusedOnAll) {
    auto model = prepared_model({.communicator = test_world()});
    const auto function = [](const NextStep&) { return test_world().rank() == 0 ? -1.0 : 0.1; };
    EXPECT_THAT(tests::message_of<Error>([&] {
                    model.fit(three_classes(30), {.callbacks = {std::make_shared<RateFunction>(function)}});
                }),
                HasSubstr("the function says -1 for step 1 of epoch 1"));
    EXPECT_EQ(model.steps_done(), 0);
}

TEST(ModelRanks, OneRankThatStopsStopsAll) {
    class Stopping final : public Callback {
        bool on_epoch_end(Model& model, const EpochRecord& record) override {
            return record.epoch < 2 || model.communicator().rank() != model.communicator().size() - 1;
        }
    };
    auto model = prepared_model({.communicator = test_world()});
    const auto history =
        model.fit(three_classes(30), {.epochs = 6, .callbacks = {std::make_shared<Stopping>()}});
    EXPECT_EQ(history.size(), 2U);
}

/// Notes after which steps all ranks have the same parameters.
class Comparing final : public Callback {
  public:
    void on_step_end(Model& model, const StepRecord& /*record*/) noexcept override {
        checksums_.push_back(static_cast<std::int64_t>(parameters_checksum(model.state())));
    }
    bool on_epoch_end(Model& model, const EpochRecord& /*record*/) override {
        for (const auto checksum : checksums_) alike_.push_back(model.communicator().all_have(checksum));
        checksums_.clear();
        return true;
    }
    const std::vector<bool>& alike() const { return alike_; }

  private:
    std::vector<std::int64_t> checksums_;
    std::vector<bool> alike_;
};

TEST(ModelRanks, LocalSgdMakesOneModelOfEveryEpoch) {
    const auto& world = test_world();
    const auto data = three_classes(96);
    const auto comparing = std::make_shared<Comparing>();
    auto model = prepared_model({.communicator = world, .local_sgd = 3});
    // 12 steps an epoch for two epochs.
    const auto history =
        model.fit(data, {.eval = data, .epochs = 2, .batch_size = 8, .callbacks = {comparing}});
    ASSERT_EQ(comparing->alike().size(), 24U);
    for (std::size_t step = 0; step < 24; ++step)
        EXPECT_EQ(comparing->alike()[step], world.size() == 1 || step % 3 == 2) << step;
    EXPECT_TRUE(parameters_are_identical(model.state(), world));
    const auto own = model.checkpoint();
    auto as_on_first = prepared_model({.communicator = world, .local_sgd = 3});
    const SharedFolder folder;
    model.save(folder / "model.h5");
    as_on_first.load(folder / "model.h5");
    EXPECT_EQ(as_on_first.checkpoint(), own) << "optimizer state is the same on all ranks, too";
    const auto later = model.fit(data, {.eval = data, .epochs = 12, .batch_size = 8});
    EXPECT_LT(later.back().eval->loss, history.front().eval->loss / 2);
    EXPECT_GT(later.back().eval->metrics.at("accuracy"), 0.9);
}

TEST(ModelRanks, LocalSgdOfOneStepLearnsWhatDataParallelRanksLearn) {
    const auto data = three_classes(50);
    auto alone = prepared_model({.communicator = test_world()}, Sgd{0.2});
    auto local = prepared_model({.communicator = test_world(), .local_sgd = 1}, Sgd{0.2});
    const auto expected = alone.fit(data, {.eval = data, .epochs = 4, .batch_size = 16});
    const auto history = local.fit(data, {.eval = data, .epochs = 4, .batch_size = 16});
    ASSERT_EQ(history.size(), expected.size());
    for (std::size_t i = 0; i < history.size(); ++i) {
        EXPECT_NEAR(history[i].train.loss, expected[i].train.loss, 1e-5);
        EXPECT_NEAR(history[i].eval->loss, expected[i].eval->loss, 1e-5);
    }
}

TEST(ModelRanks, LocalSgdGoesOnWithTheSameBits) {
    const SharedFolder folder;
    const auto data = three_classes(40);
    const ModelOptions options{.communicator = test_world(), .local_sgd = 4};
    auto undisturbed = prepared_model(options);
    undisturbed.fit(data, {.epochs = 4, .batch_size = 8});
    auto stopped = prepared_model(options);
    stopped.fit(data, {.epochs = 3, .batch_size = 8});
    stopped.save(folder / "three.h5");
    auto resumed = prepared_model(options);
    resumed.load(folder / "three.h5");
    resumed.fit(data, {.epochs = 1, .batch_size = 8});
    EXPECT_EQ(resumed.checkpoint(), undisturbed.checkpoint());
    auto by_gradients = prepared_model({.communicator = test_world()});
    by_gradients.load(folder / "three.h5");
    EXPECT_EQ(by_gradients.epochs_done(), 3) << "a checkpoint is of a model, not of a way to train it";
}

TEST(ModelRanks, TheFirstRankWritesOneRecordOfAll) {
    const SharedFolder folder;
    auto model = prepared_model({.communicator = test_world()});
    model.fit(three_classes(30), {.epochs = 2,
                                  .callbacks = {std::make_shared<JsonLines>(folder / "m"),
                                                std::make_shared<ReportPage>(folder / "p.html")}});
    test_world().barrier();
    const auto lines = tests::bytes_of(folder / "m");
    EXPECT_EQ(std::ranges::count(lines, '\n'), 4);  // begin, two epochs, end
    const auto page = tests::bytes_of(folder / "p.html");
    for (int rank = 0; rank < test_world().size(); ++rank)
        EXPECT_THAT(page, HasSubstr("<tr><td>" + std::to_string(rank) + "</td>")) << rank;
}

/// Sleeps after each step of its second epoch, on the last rank.
class Sleeping final : public Callback {
    void on_step_end(Model& model, const StepRecord& record) noexcept override {
        const auto& ranks = model.communicator();
        if (record.epoch == 2 && ranks.rank() == ranks.size() - 1)
            std::this_thread::sleep_for(std::chrono::milliseconds(150));
    }
    bool on_epoch_end(Model&, const EpochRecord&) override { return true; }
};

TEST(ModelRanks, TheRankThatOthersWaitForIsNamed) {
    const SharedFolder folder;
    const auto& world = test_world();
    auto model = prepared_model({.communicator = world});
    testing::internal::CaptureStdout();
    const auto history = model.fit(
        three_classes(80), {.epochs = 2,
                            .batch_size = 8,
                            .callbacks = {std::make_shared<Sleeping>(), std::make_shared<EpochLines>(),
                                          std::make_shared<ReportPage>(folder / "p.html")}});
    const auto printed = testing::internal::GetCapturedStdout();
    world.barrier();
    const auto page = tests::bytes_of(folder / "p.html");
    EXPECT_THAT(page, HasSubstr("id=\"phases\""));
    if (world.size() == 1) {
        EXPECT_FALSE(history[1].slowest.has_value());
        return;
    }
    const auto last = world.size() - 1;
    ASSERT_TRUE(history[1].slowest.has_value());
    EXPECT_EQ(history[1].slowest->rank, last);
    EXPECT_FALSE(history[1].slowest->host.empty());
    EXPECT_GT(history[1].slowest->waited, 1) << "nine times 150 ms; the tenth is behind the last step";
    EXPECT_TRUE(history[1].slowest->is_urgent);
    EXPECT_THAT(page, HasSubstr("in 1 for rank " + std::to_string(last)));
    if (world.rank() == 0) {
        EXPECT_THAT(printed, HasSubstr("\n         rank " + std::to_string(last) + " on "));
        EXPECT_THAT(printed, HasSubstr(" was the slowest: others waited up to "));
    }
}

TEST(ModelRanks, RowsWithinEpochsAreTheFirstRanks) {
    const SharedFolder folder;
    auto model = prepared_model({.communicator = test_world()});
    model.fit(three_classes(32),
              {.epochs = 2,
               .batch_size = 8,
               .callbacks = {std::make_shared<JsonLines>(folder / "m", RowOptions{.every_steps = 2})}});
    test_world().barrier();
    const auto lines = tests::bytes_of(folder / "m");
    EXPECT_EQ(std::ranges::count(lines, '\n'), 6);  // begin, of two epochs the second step and the end, end
    EXPECT_THAT(lines, HasSubstr("\"event\":\"step\",\"epoch\":2,\"step\":6,\"loss\":"));
}

TEST(ModelRanks, ARecordThatCannotBeWrittenIsRefusedOnAllRanks) {
    const SharedFolder folder;
    auto model = prepared_model({.communicator = test_world()});
    const auto refused = tests::message_of<Error>([&] {
        model.fit(three_classes(30), {.callbacks = {std::make_shared<JsonLines>(folder / "no" / "m")}});
    });
    EXPECT_THAT(refused, HasSubstr("No such file"));
    EXPECT_EQ(model.steps_done(), 0);
}

TEST(ModelRanks, WhatIsWrongOnOneRankIsThrownOnAll) {
    const auto& world = test_world();
    const bool is_last = world.rank() == world.size() - 1;
    class Failing final : public Callback {
        bool on_epoch_end(Model& model, const EpochRecord&) override {
            if (model.communicator().rank() == model.communicator().size() - 1)
                throw Error("the disk is full");
            return true;
        }
    };
    auto model = prepared_model({.communicator = world});
    EXPECT_EQ(tests::message_of<Error>(
                  [&] { model.fit(three_classes(30), {.callbacks = {std::make_shared<Failing>()}}); }),
              "the disk is full");
    const Dataset wide(std::vector<float>(40, 0), std::vector<std::int64_t>(8, 0), 5);
    const auto narrow = three_classes(8);
    const DataSource& mine = is_last ? static_cast<const DataSource&>(wide) : narrow;
    EXPECT_THAT(tests::message_of<Error>([&] { model.evaluate(mine); }), HasSubstr("5 float32 values"));
    if (world.size() == 1) return;
    EXPECT_THAT(tests::message_of([&] { model.evaluate(three_classes(is_last ? 9 : 8)); }),
                HasSubstr("every rank must have all samples"));
    EXPECT_THAT(tests::message_of([&] { model.fit(narrow, {.batch_size = world.size() - 1}); }),
                HasSubstr("batch_size"));
    EXPECT_THROW(prepared_model({.communicator = world, .virtual_ranks = 1}), UsageError);
}

TEST(ModelRanks, OnlyTheFirstRankReadsACheckpoint) {
    const SharedFolder folder;
    const auto& world = test_world();
    auto model = prepared_model({.communicator = world});
    model.fit(three_classes(30), {.epochs = 1});
    model.save(folder / "model.h5");
    auto other = prepared_model({.communicator = world, .seed = 8});
    other.load(world.rank() == 0 ? folder / "model.h5" : "nowhere.h5");
    EXPECT_EQ(other.checkpoint(), model.checkpoint());
    const auto before = other.checkpoint();
    EXPECT_THAT(tests::message_of<Error>([&] { other.load(folder / "missing.h5"); }),
                HasSubstr("missing.h5"));
    EXPECT_EQ(other.checkpoint(), before);
}

}  // namespace
}  // namespace dtrain
