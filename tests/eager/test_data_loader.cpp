// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the order of shuffled_order() and 0, 1, 2, ..., cut into batches by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/nn.hpp>
#include <dtrain/sampler.hpp>

#include "support/message_of.hpp"

namespace dtrain::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

// Sample i has the value i and the label i.
Dataset numbers(std::int64_t count, std::int64_t features = 1) {
    std::vector<float> x;
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < count; ++i) {
        labels.push_back(i);
        x.insert(x.end(), static_cast<std::size_t>(features), static_cast<float>(i));
    }
    return {std::move(x), std::move(labels), features};
}

TEST(DataLoading, InOrderWithASmallerLastBatch) {
    const auto data = numbers(7);
    const DataLoader loader(data, {.batch_size = 3});
    EXPECT_EQ(loader.batches(), 3);
    std::vector<std::vector<std::int64_t>> labels;
    for (const auto& [id, x, y] : loader(0)) {
        EXPECT_EQ(id, static_cast<std::int64_t>(labels.size()));
        EXPECT_EQ(x.shape(), (Shape{y.shape()[0], 1}));
        EXPECT_EQ(x.values()[0], static_cast<float>(y.values<std::int64_t>()[0]));
        labels.emplace_back(y.values<std::int64_t>().begin(), y.values<std::int64_t>().end());
    }
    EXPECT_THAT(labels, ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5), ElementsAre(6)));
    EXPECT_EQ(DataLoader(data, {.batch_size = 3, .drop_last = true}).batches(), 2);
}

TEST(DataLoading, ShuffledByEpoch) {
    const auto data = numbers(10);
    const DataLoader loader(data, {.batch_size = 4, .shuffle = true, .order_seed = 9});
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
        std::vector<std::int64_t> labels;
        for (const auto& [id, x, y] : loader(epoch))
            for (const auto label : y.values<std::int64_t>()) labels.push_back(label);
        EXPECT_EQ(labels, shuffled_order(10, 9, epoch));
    }
}

TEST(DataLoading, SamplesHaveTheirShape) {
    const auto data = numbers(2, 12);
    const DataLoader loader(data, {.batch_size = 2, .sample = {3, 4}});
    for (const auto& [id, x, y] : loader(0)) EXPECT_EQ(x.shape(), (Shape{2, 3, 4}));
}

TEST(DataLoading, AnEpochOutlivesItsLoader) {
    const auto data = numbers(4);
    float total = 0;
    for (const auto& [id, x, y] : DataLoader(data, {.batch_size = 3})(0))
        for (const auto value : x.values()) total += value;
    EXPECT_EQ(total, 6);
}

TEST(DataLoading, Refusals) {
    const auto data = numbers(5, 12);
    EXPECT_THAT(message_of([&] { DataLoader(data, {.batch_size = 0}); }), HasSubstr("batch_size is 0"));
    EXPECT_THAT(message_of([&] {
                    DataLoader(data, {.sample = {3, 5}});
                }),
                HasSubstr("shape [3, 5] has 15 values, but the data have 12"));
    EXPECT_THAT(message_of([&] { DataLoader(data, {.batch_size = 6, .drop_last = true}); }),
                HasSubstr("5 samples, and batch_size is 6"));
}

}  // namespace
}  // namespace dtrain::nn
