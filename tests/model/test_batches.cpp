// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a DistributedSampler and DataSource::gather() by hand; sums of the samples themselves.
#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/batches.hpp>
#include <dtrain/layers.hpp>

#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using tests::message_of;

/// Samples of two values: n and 10 n, label n.
Dataset numbers(std::int64_t count) {
    std::vector<float> x;
    std::vector<std::int64_t> labels;
    for (std::int64_t n = 0; n < count; ++n) {
        x.push_back(static_cast<float>(n));
        x.push_back(static_cast<float>(10 * n));
        labels.push_back(n);
    }
    return {std::move(x), std::move(labels), 2};
}

/// The sum of all values, and that of the first values of real samples.
struct Sums {
    Program program = {};
    Var x = layers::data(program, "x", {3, 2});
    Var label = layers::data(program, "label", {3}, DataType::int64);
    Var weight = layers::data(program, "weight", {3});
    Var all = layers::reduce_sum(program, x);
    Var real = layers::weighted_sum(
        program, layers::reshape(program, layers::split(program, x, {1, 1}, 1)[0], {3}), weight);
    State state{program, 1};
    Executor executor{program, state};
};

template <class Element>
std::vector<Element> fed(Executor& executor, const Var& name) {
    const auto values = executor.feed<Element>(name);
    return {values.begin(), values.end()};
}

TEST(Batches, FeedWhatTheSamplerSays) {
    const auto data = numbers(7);
    for (const auto last : {LastBatch::repeat, LastBatch::random, LastBatch::drop}) {
        Sums sums;
        Batches batches(
            sums.executor, data, Communicator(),
            {.x = sums.x, .label = sums.label, .weight = sums.weight, .seed = 5, .last_batch = last});
        DistributedSampler sampler({.samples = 7, .global_batch = 3, .seed = 5, .last_batch = last});
        ASSERT_EQ(batches.steps(), sampler.steps());
        for (const std::int64_t epoch : {0, 3}) {
            sampler.start_epoch(epoch);
            std::int64_t expected_step = 0;
            for (const auto step : batches.epoch(epoch)) {
                EXPECT_EQ(step, expected_step++);
                const auto batch = sampler.batch(step);
                std::vector<float> x(6);
                std::vector<std::int64_t> labels(3);
                data.gather(batch.samples, x, labels);
                EXPECT_THAT(fed<float>(sums.executor, sums.x), ElementsAreArray(x));
                EXPECT_THAT(fed<std::int64_t>(sums.executor, sums.label), ElementsAreArray(labels));
                EXPECT_THAT(fed<float>(sums.executor, sums.weight), ElementsAreArray(batch.weights));
            }
            EXPECT_EQ(expected_step, sampler.steps());
        }
    }
}

TEST(Batches, SumsCountEverySampleOnceWhereThereAreWeights) {
    const auto data = numbers(7);
    Sums sums;
    Batches batches(
        sums.executor, data, Communicator(),
        {.x = sums.x, .label = sums.label, .weight = sums.weight, .order = SampleOrder::sequential});
    EXPECT_EQ(batches.sum(sums.real), 0 + 1 + 2 + 3 + 4 + 5 + 6);
    EXPECT_EQ(batches.sum(sums.all), 11 * (0 + 1 + 2 + 3 + 4 + 5 + 6 + 0 + 1)) << "padding repeats the first";
}

TEST(Batches, WeightsNeedNotBeFed) {
    const auto data = numbers(6);
    Sums sums;
    Batches batches(sums.executor, data, Communicator(), {.x = sums.x, .label = sums.label});
    std::ranges::fill(sums.executor.feed<float>(sums.weight), 2.0F);
    EXPECT_EQ(batches.sum(sums.real), 2 * (0 + 1 + 2 + 3 + 4 + 5));
}

TEST(Batches, WhatDoesNotFitIsNamed) {
    const auto data = numbers(7);
    Sums sums;
    const auto refused = [&](const BatchesOptions& options) {
        return message_of<UsageError>([&] { Batches(sums.executor, data, Communicator(), options); });
    };
    EXPECT_THAT(refused({.x = "y", .label = sums.label}), HasSubstr("'y'"));
    EXPECT_EQ(refused({.x = sums.weight, .label = sums.label}),
              "Batches: 'weight' has 3 values, expected 6: 3 labels, and samples of 2 values");
    EXPECT_EQ(refused({.x = sums.x, .label = sums.label, .weight = sums.x}),
              "Batches: 'x' has 6 values, expected one for each of 3 labels");
    EXPECT_THAT(refused({.x = sums.x, .label = sums.label, .last_batch = LastBatch::uneven}),
                HasSubstr("LastBatch::uneven"));
}

}  // namespace
}  // namespace dtrain
