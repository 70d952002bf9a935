// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: the same model trained data-parallel by as many ranks as there are trainers, whose gradients sync
// mode adds in the same order, so that the bits are the same; and a bias worked out by hand. Runs at 1, 2
// and 4 ranks: with 2 one of them serves, with 4 two.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/model.hpp>

#include "small_models.hpp"
#include "support/message_of.hpp"
#include "support/shared_folder.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;
using tests::SharedFolder;

int half() {
    return test_world().size() / 2;
}

ModelOptions with_servers(ParameterServers servers = {}) {
    servers.count = half();
    return {.communicator = test_world(), .servers = servers};
}

/// The ranks that would be trainers, each with the number that it has there.
Communicator trainers_alone() {
    return test_world().split(test_world().rank() < half() ? 0 : 1, test_world().rank());
}

struct Trained {
    std::vector<EpochRecord> history;
    Metrics metrics;
    std::vector<float> predicted;
    std::uint64_t checksum;
};

Trained trained(Model& model, std::int64_t epochs = 3) {
    const auto data = three_classes(50);
    Trained result{.history = model.fit(data, {.eval = data, .epochs = epochs, .batch_size = 16})};
    result.metrics = model.evaluate(data);
    result.predicted = model.predict(data).values;
    result.checksum = parameters_checksum(model.state());
    return result;
}

void expect_same(const Trained& one, const Trained& other) {
    ASSERT_EQ(one.history.size(), other.history.size());
    for (std::size_t i = 0; i < one.history.size(); ++i) {
        EXPECT_EQ(one.history[i].train, other.history[i].train) << i;
        EXPECT_EQ(one.history[i].eval, other.history[i].eval) << i;
    }
    EXPECT_EQ(one.metrics, other.metrics);
    EXPECT_EQ(one.predicted, other.predicted);
    EXPECT_EQ(one.checksum, other.checksum);
}

class ModelServers : public testing::Test {
  protected:
    void SetUp() override {
        if (test_world().size() < 2) GTEST_SKIP() << "needs a server and a trainer";
    }
};

TEST_F(ModelServers, SyncHasTheBitsOfDataParallelRanks) {
    for (const Optimizer& optimizer : {Optimizer(Sgd{0.2}), Optimizer(Adam{0.01})}) {
        const auto alone = trainers_alone();
        auto model = prepared_model(with_servers({.min_block_size = 8192}), optimizer);
        if (model.serve()) continue;
        EXPECT_EQ(model.communicator().size(), test_world().size() - half());
        auto other = prepared_model({.communicator = alone}, optimizer);
        expect_same(trained(model), trained(other));
        EXPECT_EQ(model.steps_done(), 12);
    }
}

/// What it learns is its bias, which begins at 0, as x is 0. With y = 3 the gradient of (b - 3)^2 is 2 (b -
/// 3).
Model one_bias(ModelOptions options) {
    Model model(SimpleNetwork(
                    [](Program& program, const Var& x) { return layers::fc(program, x, 1, {.name = "fc"}); }),
                {"x", {1}}, {"y", {1}}, std::move(options));
    model.prepare(Sgd{0.25}, MSELoss{});
    return model;
}

float bias_after(Model& model, std::int64_t steps) {
    const auto samples = static_cast<std::size_t>(model.communicator().size());
    const std::vector<float> x(samples, 0);
    const std::vector<float> y(samples, 3);
    model.fit(Samples{{"x", std::span<const float>(x)}, {"y", std::span<const float>(y)}},
              {.epochs = steps, .batch_size = static_cast<std::int64_t>(samples)});
    return model.state().find("fc.bias")->view.as<float>()[0];
}

TEST_F(ModelServers, AStepOfSyncIsOneUpdateWithTheAverage) {
    auto model = one_bias(with_servers());
    if (model.serve()) return;
    EXPECT_EQ(bias_after(model, 1), 1.5F);  // 0 + 0.25 * 2 * 3
    EXPECT_EQ(bias_after(model, 1), 2.25F);
}

TEST_F(ModelServers, InAsyncModeEachTrainerUpdates) {
    auto model = one_bias(with_servers({.mode = ServerMode::async}));
    if (model.serve()) return;
    // Two trainers that begin at 0 push -6 each, or the second one sees the first's update: 3 or 2.25.
    const auto bias = bias_after(model, 1);
    if (model.communicator().size() == 1)
        EXPECT_EQ(bias, 1.5F);
    else
        EXPECT_TRUE(bias == 3.0F || bias == 2.25F) << bias;
    EXPECT_TRUE(parameters_are_identical(model.state(), model.communicator()));
}

TEST_F(ModelServers, EveryModeLearns) {
    for (const auto& servers : {ParameterServers{.mode = ServerMode::async, .most_merged = 2},
                                ParameterServers{.mode = ServerMode::half_async, .staleness = 1},
                                ParameterServers{.mode = ServerMode::geo, .push_every = 3},
                                ParameterServers{.mode = ServerMode::sync, .wire = WireType::bfloat16}}) {
        auto model = prepared_model(with_servers(servers), Adam{0.02});
        if (model.serve()) continue;
        const auto result = trained(model, 12);
        EXPECT_LT(result.history.back().train.loss, 0.7 * result.history.front().train.loss)
            << to_string(servers.mode);
        EXPECT_GT(result.metrics.metrics.at("accuracy"), 0.9) << to_string(servers.mode);
    }
}

/// Ids that any int64 may be, in a table of which servers have the rows: their mean tells the label.
Model unprepared_table_model(ModelOptions options, bool is_distributed) {
    return Model(SimpleNetwork([=](Program& program, const Var& ids) {
                     const auto rows = layers::embedding(
                         program, ids, 64, 4,
                         {.is_sparse = true, .is_distributed = is_distributed, .name = "table"});
                     return layers::fc(program, layers::reshape(program, rows, {-1, 8}), 1);
                 }),
                 {"ids", {2}, DataType::int64}, {"clicked", {1}}, std::move(options));
}

Model table_model(ModelOptions options, bool is_distributed) {
    auto model = unprepared_table_model(std::move(options), is_distributed);
    model.prepare(Adam{0.05}, BCEWithLogitsLoss{}, {AreaUnderCurve{}});
    return model;
}

struct Clicks {
    std::vector<std::int64_t> ids;
    std::vector<float> clicked;

    explicit Clicks(std::int64_t samples) {
        for (std::int64_t i = 0; i < samples; ++i) {
            ids.push_back((i * 13) % 29);
            ids.push_back(30 + (i * 7) % 31);
            clicked.push_back(ids.end()[-2] % 3 == 0 ? 1.0F : 0.0F);
        }
    }
    Samples view() const {
        return {{"ids", std::span<const std::int64_t>(ids)}, {"clicked", std::span<const float>(clicked)}};
    }
};

TEST_F(ModelServers, RowsOfTablesAreOnTheServers) {
    const Clicks clicks(96);
    for (const bool is_distributed : {false, true}) {
        const auto alone = trainers_alone();
        auto model = table_model(with_servers(), is_distributed);
        if (model.serve()) continue;
        EXPECT_EQ(model.state().find("table.weight"), nullptr);
        const auto history = model.fit(clicks.view(), {.epochs = 6, .batch_size = 16});
        const auto metrics = model.evaluate(clicks.view());
        EXPECT_GT(metrics.metrics.at("auc"), 0.99);
        EXPECT_EQ(model.predict(clicks.view()).shape, Shape({96, 1}));
        if (is_distributed) continue;  // a table of any ids is for servers alone
        auto other = table_model({.communicator = alone}, false);
        const auto expected = other.fit(clicks.view(), {.epochs = 6, .batch_size = 16});
        for (std::size_t i = 0; i < history.size(); ++i)
            EXPECT_NEAR(history[i].train.loss, expected[i].train.loss, 1e-5) << i;
    }
}

TEST_F(ModelServers, TrainingGoesOnFromASave) {
    const SharedFolder folder;
    const auto data = three_classes(50);
    const auto path = folder.path() / "saved";
    for (const auto mode : {ServerMode::sync, ServerMode::geo}) {
        std::uint64_t expected = 0;
        const ParameterServers servers{.mode = mode, .push_every = 1};
        const bool is_exact = mode == ServerMode::sync || test_world().size() == 2;
        {
            auto undisturbed = prepared_model(with_servers(servers));
            if (!undisturbed.serve()) {
                undisturbed.fit(data, {.epochs = 2, .batch_size = 16});
                undisturbed.keep("own", {3, 4});
                undisturbed.save(path);
                undisturbed.fit(data, {.epochs = 2, .batch_size = 16});
                expected = parameters_checksum(undisturbed.state());
            }
        }
        auto again = prepared_model(with_servers(servers));
        if (again.serve()) continue;
        again.load(path);
        EXPECT_EQ(again.epochs_done(), 2);
        EXPECT_EQ(again.steps_done(), 8);
        EXPECT_EQ(again.kept("own"), std::vector<double>({3, 4}));
        again.fit(data, {.epochs = 2, .batch_size = 16});
        if (is_exact) {
            EXPECT_EQ(parameters_checksum(again.state()), expected) << to_string(mode);
        }
    }
}

TEST_F(ModelServers, ALoadThatFailsLeavesTheServersAsTheyWere) {
    const SharedFolder folder;
    const auto alone = trainers_alone();
    auto model = prepared_model(with_servers());
    if (model.serve()) return;
    EXPECT_THAT(message_of([&] { model.load(folder.path() / "nothing"); }), HasSubstr("nothing"));
    EXPECT_EQ(model.load_newest(folder.path()), std::nullopt);
    auto other = prepared_model({.communicator = alone});
    expect_same(trained(model), trained(other));
    EXPECT_THAT(message_of([&] { model.load(folder.path() / "nothing"); }),
                HasSubstr("before the first fit(), evaluate(), predict() or save()"));
    EXPECT_THAT(message_of([&] { model.prepare(Sgd{}, CrossEntropyLoss{}); }),
                HasSubstr("already run what an earlier prepare() has given them"));
}

TEST_F(ModelServers, TrainersThatDoNothingLetTheServersEnd) {
    auto model = prepared_model(with_servers());
    EXPECT_EQ(model.serve(), test_world().rank() < half());
}

TEST_F(ModelServers, AnErrorThatAllTrainersHaveLetsTheServersEnd) {
    for (const bool has_started : {false, true}) {
        const auto run = [&] {
            auto model = prepared_model(with_servers());
            if (model.serve()) return;
            if (has_started) model.evaluate(three_classes(12));
            model.fit(three_classes(12), {.epochs = -1});
        };
        if (test_world().rank() < half())
            run();
        else
            EXPECT_EQ(message_of(run), "epochs is -1; it must be 0 or more");
    }
}

TEST_F(ModelServers, WhatIsForTrainersIsRefusedOnAServer) {
    auto model = prepared_model(with_servers());
    if (test_world().rank() < half()) {
        EXPECT_EQ(message_of([&] { model.evaluate(three_classes(12)); }),
                  "evaluate(): this rank is a parameter server, and only the others train; write 'if "
                  "(model.serve()) return 0;' behind prepare()");
    }
    if (model.serve()) return;
    EXPECT_THAT(message_of([&] { model.set_learning_rate(0.5); }),
                HasSubstr("set_learning_rate(0.5): parameter servers update with the rate"));
    EXPECT_THAT(message_of([&] {
                    model.fit(three_classes(12),
                              {.callbacks = {std::make_shared<Checkpoints>("checkpoints")}});
                }),
                HasSubstr("Checkpoints: the parameters for 'checkpoints' are on parameter servers"));
    EXPECT_THAT(message_of([&] { model.save("model.h5", CheckpointFormat::file); }),
                HasSubstr("save(\"model.h5\"): parameter servers write a directory"));
}

TEST_F(ModelServers, WhatServersCannotTrainIsRefusedOnAllRanks) {
    auto model = unprepared_table_model(with_servers(), true);
    EXPECT_THAT(message_of([&] {
                    model.prepare(Adam{}, BCEWithLogitsLoss{}, {}, {.clipping = ClipByValue{-1, 1}});
                }),
                HasSubstr("changes the gradient of the table 'table.weight'; servers can only let it decay"));
    EXPECT_THAT(message_of([&] { model.serve(); }), HasSubstr("call prepare() first"));
}

TEST_F(ModelServers, AModelOfManyTrainersMustLeaveRoom) {
    EXPECT_EQ(message_of([] {
                  small_model({.communicator = test_world(), .servers = ParameterServers{.count = 99}});
              }),
              "99 parameter servers in a job of " + std::to_string(test_world().size()) +
                  " ranks; there must be one at least, and one rank that trains");
}

}  // namespace
}  // namespace dtrain
