// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: fit() must have the bits of a loop over DistributedSampler and Executor that is written out here;
// evaluate() and predict() are compared with values computed sample by sample from the predictions; the
// handwritten digits must be told apart as well as the native job does it.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/model.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/sampler.hpp>

#include "small_models.hpp"
#include "support/on_gpu.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

// A program for batches of 16, its State and its steps.
std::uint64_t checksum_by_hand(const Dataset& data, std::int64_t epochs, std::uint64_t seed) {
    constexpr std::int64_t batch = 16;
    Program program;
    const auto x = layers::data(program, "x", {batch, 4});
    const auto label = layers::data(program, "label", {batch}, DataType::int64);
    const auto entropy = layers::softmax_with_cross_entropy(program, small_network(program, x), label);
    minimize(program, entropy.loss, Adam{0.01});
    Executor executor(program, State(program, seed));
    DistributedSampler sampler({.samples = data.size(), .global_batch = batch, .seed = seed});
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
        sampler.start_epoch(epoch);
        for (std::int64_t step = 0; step < sampler.steps(); ++step) {
            const auto samples = sampler.batch(step).samples;
            data.gather(samples, executor.feed<float>("x"), executor.feed<std::int64_t>("label"));
            executor.run();
        }
    }
    return parameters_checksum(executor.state());
}

TEST(Model, FitHasTheBitsOfALoopByHand) {
    const auto data = three_classes(50);
    auto model = prepared_model({.seed = 7});
    const auto untrained = parameters_checksum(model.state());
    const auto history = model.fit(data, {.epochs = 3, .batch_size = 16});
    EXPECT_EQ(parameters_checksum(model.state()), checksum_by_hand(data, 3, 7));
    EXPECT_NE(parameters_checksum(model.state()), untrained);
    ASSERT_EQ(history.size(), 3U);
    EXPECT_EQ(history[2].epoch, 3);
    EXPECT_EQ(history[0].train.samples, 50);
    EXPECT_FALSE(history[0].eval.has_value());
    EXPECT_GT(history[0].seconds, 0);
    EXPECT_EQ(model.epochs_done(), 3);
    EXPECT_EQ(model.steps_done(), 12);
}

TEST(Model, EpochsInPartsAreTheSame) {
    const auto data = three_classes(50);
    auto whole = prepared_model();
    auto parts = prepared_model();
    whole.fit(data, {.epochs = 3, .batch_size = 16});
    for (const std::int64_t epochs : {1, 0, 2}) parts.fit(data, {.epochs = epochs, .batch_size = 16});
    EXPECT_EQ(parameters_checksum(parts.state()), parameters_checksum(whole.state()));
    EXPECT_EQ(parts.epochs_done(), 3);
}

TEST(Model, WithoutShufflingTheOrderIsThatOfTheSamples) {
    const auto data = three_classes(48);
    const auto checksum = [&](bool shuffle, std::uint64_t seed) {
        auto model = prepared_model({.seed = seed});
        model.prepare(Sgd{0.1}, CrossEntropyLoss{});
        // Both begin alike, so that the order alone makes a difference.
        const auto start = prepared_model({.seed = 1});
        for (const auto& tensor : model.state().tensors())
            if (tensor.role == Role::parameter)
                std::ranges::copy(start.state().find(tensor.name)->view.as<float>(),
                                  tensor.view.as<float>().begin());
        model.fit(data, {.epochs = 2, .batch_size = 16, .shuffle = shuffle});
        return parameters_checksum(model.state());
    };
    EXPECT_EQ(checksum(false, 1), checksum(false, 2));
    EXPECT_NE(checksum(true, 1), checksum(true, 2));
    EXPECT_NE(checksum(true, 1), checksum(false, 1));
}

TEST(Model, EvaluateIsTheMeanOverTheSamplesAndChangesNothing) {
    const auto data = three_classes(50);
    auto model = prepared_model();
    model.fit(data, {.epochs = 2, .batch_size = 16});
    const auto before = model.checkpoint();

    const auto predicted = model.predict(data, {.batch_size = 50});
    EXPECT_EQ(predicted.shape, (Shape{50, 3}));
    double loss = 0;
    double right = 0;
    for (std::int64_t i = 0; i < 50; ++i) {
        const auto logits = std::span(predicted.values).subspan(static_cast<std::size_t>(3 * i), 3);
        const auto label = static_cast<std::size_t>(data.label(i));
        double sum = 0;
        for (const auto logit : logits) sum += std::exp(static_cast<double>(logit));
        loss += std::log(sum) - logits[label];
        right += std::ranges::max_element(logits) - logits.begin() == data.label(i);
    }
    for (const std::int64_t batch : {1, 7, 50, 64, 256}) {
        const auto metrics = model.evaluate(data, {.batch_size = batch});
        EXPECT_NEAR(metrics.loss, loss / 50, 1e-6) << batch;
        EXPECT_EQ(metrics.metrics.at("accuracy"), right / 50) << batch;
        EXPECT_EQ(metrics.samples, 50);
    }
    EXPECT_EQ(model.checkpoint(), before);

    // Nor does it change what is trained afterwards.
    auto other = prepared_model();
    other.fit(data, {.epochs = 3, .batch_size = 16});
    model.fit(data, {.epochs = 1, .batch_size = 16});
    EXPECT_EQ(parameters_checksum(model.state()), parameters_checksum(other.state()));
}

TEST(Model, HasTheSameBitsWhenVariablesShareMemory) {
    const auto data = three_classes(50);
    const auto trained = [&](bool shares, int virtual_ranks) {
        auto model = prepared_model({.virtual_ranks = virtual_ranks, .memory_optimize = shares});
        const auto history = model.fit(data, {.eval = data, .epochs = 2, .batch_size = 16});
        return std::tuple(model.checkpoint(), history.back().train, history.back().eval,
                          model.predict(data, {.batch_size = 7}).values);
    };
    for (const int virtual_ranks : {0, 3})
        EXPECT_EQ(trained(true, virtual_ranks), trained(false, virtual_ranks));
}

TEST(Model, PredictsInOrderWithAnyBatch) {
    const auto data = three_classes(50);
    auto model = prepared_model();
    const auto expected = model.predict(data, {.batch_size = 1});
    for (const std::int64_t batch : {3, 16, 64}) {
        const auto predicted = model.predict(data, {.batch_size = batch});
        ASSERT_EQ(predicted.shape, expected.shape);
        for (std::size_t i = 0; i < expected.values.size(); ++i)
            ASSERT_NEAR(predicted.values[i], expected.values[i], 1e-6) << batch << " " << i;
    }
}

// y = 3 a - 2 b + 1 from two inputs; a sample's loss is the mean of its two elements' squares.
TEST(Model, LearnsARegressionFromSpansOfSeveralInputs) {
    std::vector<float> a;
    std::vector<float> b;
    std::vector<float> y;
    for (int i = 0; i < 40; ++i) {
        a.push_back(static_cast<float>(std::sin(i)));
        b.push_back(static_cast<float>(std::cos(3 * i)));
        y.insert(y.end(), {3 * a.back() - 2 * b.back() + 1, a.back()});
    }
    Model model(
        [](Program& program, const std::vector<std::string>& inputs) {
            return layers::fc(program, layers::concat(program, inputs, 1), 2);
        },
        {{"a", {1}}, {"b", {1}}}, {{"y", {2}}});
    model.prepare(Sgd{0.3}, MSELoss{});
    const Samples samples{
        {"a", std::span<const float>(a)}, {"b", std::span<const float>(b)}, {"y", std::span<const float>(y)}};
    const auto untrained = model.evaluate(samples, {.batch_size = 7}).loss;
    const auto predicted =
        model.predict({{"a", std::span<const float>(a)}, {"b", std::span<const float>(b)}});
    double expected = 0;
    for (std::size_t i = 0; i < y.size(); ++i) expected += std::pow(predicted.values[i] - y[i], 2);
    EXPECT_NEAR(untrained, expected / 80, 1e-5);
    const auto history = model.fit(samples, {.epochs = 60, .batch_size = 8});
    EXPECT_LT(history.back().train.loss, 1e-5);
    EXPECT_NEAR(model.state().find("fc_0.weight")->view.as<float>()[0], 3, 0.01);
}

// Labels are 1 where the first is the larger: what learns that ranks nearly all pairs rightly. The AUC of the
// untrained network is counted here pair by pair.
TEST(Model, ClicksHaveTheAreaUnderTheCurve) {
    std::vector<float> x;
    std::vector<float> clicked;
    for (int i = 0; i < 30; ++i) {
        x.insert(x.end(), {static_cast<float>(std::sin(1.7 * i)), static_cast<float>(std::sin(5.1 * i))});
        clicked.push_back(x[x.size() - 2] > x.back() ? 1.0F : 0.0F);
    }
    Model model([](Program& program, const std::string& in) { return layers::fc(program, in, 1); },
                {"x", {2}}, {"y", {1}});
    model.prepare(Adam{0.1}, BCEWithLogitsLoss{}, {AreaUnderCurve{}});
    const Samples samples{{"x", std::span<const float>(x)}, {"y", std::span<const float>(clicked)}};
    const auto scores = model.predict(samples).values;
    double won = 0;
    double pairs = 0;
    double loss = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        loss += std::log1p(std::exp(static_cast<double>(clicked[i] > 0 ? -scores[i] : scores[i])));
        for (std::size_t j = 0; j < scores.size(); ++j) {
            if (clicked[i] <= clicked[j]) continue;
            ++pairs;
            won += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
        }
    }
    const auto untrained = model.evaluate(samples, {.batch_size = 7});
    ASSERT_GT(won, 0) << "some pairs are right and some wrong, so that padding would be seen";
    ASSERT_LT(won, pairs);
    EXPECT_NEAR(untrained.metrics.at("auc"), won / pairs, 1e-12);
    EXPECT_NEAR(untrained.loss, loss / 30, 1e-6);
    const auto history = model.fit(samples, {.eval = samples, .epochs = 40, .batch_size = 10});
    EXPECT_GT(history.back().eval->metrics.at("auc"), 0.98);
    EXPECT_GT(history.back().train.metrics.at("auc"), 0.98);
}

TEST(Model, SamplesOnDiskAreReadAsThoseInMemory) {
    const DatasetSource source{
        .file = DTRAIN_EXAMPLES "/digits.h5", .x = "test/x", .y = "test/y", .scale = 1.0F / 16};
    const auto in_memory = open_data(source, 1 << 20);
    const auto on_disk = open_data(source, 1 << 14);
    ASSERT_EQ(in_memory->lookahead(), 0);
    ASSERT_GT(on_disk->lookahead(), 0);
    const auto run = [](const DataSource& data) {
        Model model([](Program& p, const std::string& x) { return layers::fc(p, x, 10); }, {"x", {64}},
                    {"label", {}, DataType::int64}, {.virtual_ranks = 2});
        model.prepare(Sgd{0.1}, CrossEntropyLoss{}, {Accuracy{}});
        const auto record = model.fit(data, {.eval = data, .epochs = 2, .batch_size = 64}).back();
        return std::tuple(model.checkpoint(), record.train, record.eval, model.predict(data).values);
    };
    EXPECT_EQ(run(*on_disk), run(*in_memory));
}

TEST(Model, OnlyTrainingDropsOut) {
    const auto data = three_classes(40);
    Model model(
        [](Program& p, const std::string& x) {
            return layers::fc(p, layers::dropout(p, layers::fc(p, x, 32), 0.5), 3);
        },
        {"x", {4}}, {"label", {}, DataType::int64});
    model.prepare(Sgd{0.0}, CrossEntropyLoss{});  // learns nothing
    const auto expected = model.evaluate(data, {.batch_size = 40}).loss;
    const auto history = model.fit(data, {.eval = data, .epochs = 2, .batch_size = 40, .shuffle = false});
    EXPECT_NE(history[0].train.loss, expected);
    EXPECT_NE(history[1].train.loss, history[0].train.loss) << "each step drops others";
    EXPECT_EQ(history[1].eval->loss, expected);
}

TEST(Model, ProductsOfBfloat16WhereTheCpuHasThem) {
    const ModelOptions options{.products = ComputeType::bfloat16};
    if (!tests::executors_are_on_a_gpu() && !has_bfloat16_products()) {
        EXPECT_THROW(small_model(options), UsageError);
        return;
    }
    const auto data = three_classes(40);
    auto model = prepared_model(options);
    EXPECT_NE(model.predict(data).values, prepared_model().predict(data).values);
    const auto before = model.evaluate(data).loss;
    EXPECT_LT(model.fit(data, {.eval = data, .epochs = 5, .batch_size = 8}).back().eval->loss, before);
}

// Oracle: the training that was not stopped; the scale is a checkpoint's, too.
TEST(Model, ProductsOfFloat16OnGpusScaleTheLoss) {
    const ModelOptions options{.products = ComputeType::float16, .loss_scaling = {.first = 1024}};
    if (!tests::executors_are_on_a_gpu()) {
        EXPECT_THROW(small_model(options), UsageError);
        return;
    }
    const auto data = three_classes(40);
    auto model = prepared_model(options);
    const auto before = model.evaluate(data).loss;
    EXPECT_LT(model.fit(data, {.eval = data, .epochs = 5, .batch_size = 8}).back().eval->loss, before);
    const tests::TemporaryFolder folder;
    model.save(folder / "half.h5");
    const auto saved = load_checkpoint(folder / "half.h5").optimizer;
    EXPECT_EQ(std::get<std::vector<float>>(saved.at(loss_scale_name).values), std::vector{1024.0F});
    EXPECT_TRUE(saved.contains(loss_scale_steps_name));
    auto other = prepared_model(options);
    other.load(folder / "half.h5");
    for (auto* each : {&model, &other}) each->fit(data, {.epochs = 2, .batch_size = 8});
    EXPECT_EQ(other.predict(data).values, model.predict(data).values);
    other.save(folder / "after.h5");
    model.save(folder / "whole.h5");
    EXPECT_EQ(load_checkpoint(folder / "after.h5").optimizer, load_checkpoint(folder / "whole.h5").optimizer);
}

TEST(Model, TheLastBatchMayBeDropped) {
    const auto data = three_classes(50);
    auto model = prepared_model();
    const auto history = model.fit(data, {.batch_size = 16, .last_batch = LastBatch::drop});
    EXPECT_EQ(history[0].train.samples, 48);
    EXPECT_EQ(model.steps_done(), 3);
    EXPECT_THROW(model.fit(data, {.batch_size = 64, .last_batch = LastBatch::drop}), UsageError);
    EXPECT_THROW(model.fit(data, {.batch_size = 16, .last_batch = LastBatch::uneven}), UsageError);
}

TEST(Model, ScheduleIsCountedInSteps) {
    auto model = small_model();
    model.prepare(Sgd{}, CrossEntropyLoss{}, {},
                  {.schedule = LearningRateSchedule{PiecewiseRate{{4}, {0.1, 0.0}}}});
    const auto data = three_classes(32);
    model.fit(data, {.epochs = 2, .batch_size = 16});
    const auto at_the_boundary = parameters_checksum(model.state());
    model.fit(data, {.epochs = 2, .batch_size = 16});
    EXPECT_EQ(parameters_checksum(model.state()), at_the_boundary) << "the rate is 0 from step 4 on";
}

TEST(Model, TellsHandwrittenDigitsApart) {
    const auto digits = [](const std::string& part) {
        return Dataset::read(
            {.file = DTRAIN_EXAMPLES "/digits.h5", .x = part + "/x", .y = part + "/y", .scale = 1.0F / 16});
    };
    const auto train = digits("train");
    const auto test = digits("test");
    Model model(
        [](Program& program, const std::string& x) {
            return layers::fc(program, layers::fc(program, x, 64, {.activation = "relu"}), 10);
        },
        {"x", {64}}, {"label", {}, DataType::int64});
    model.prepare(Adam{0.003}, CrossEntropyLoss{}, {Accuracy{}});
    const auto history = model.fit(train, {.eval = test, .epochs = 12, .batch_size = 64});
    EXPECT_EQ(history.back().eval->samples, test.size());
    EXPECT_GT(history.back().eval->metrics.at("accuracy"), 0.94);
    EXPECT_EQ(history.back().eval, model.evaluate(test, {.batch_size = 64}));
}

}  // namespace
}  // namespace dtrain
