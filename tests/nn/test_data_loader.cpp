// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the order of shuffled_order() and 0, 1, 2, ..., cut into batches by hand.
#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/nn.hpp>
#include <dtrain/sampler.hpp>

#include "support/chunked_samples.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

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

// Oracle: the same samples in memory, and the kernel's count of bytes: 1280 samples read as many chunks
// of 1.25 MiB; windows of 704 samples read each of the four twice.
TEST(DataLoading, FromDiskByWholeChunks) {
    const tests::TemporaryFolder folder;
    const tests::ChunkedSamples samples(folder / "d.h5");
    const auto whole = open_data(samples.source, std::int64_t{1} << 40);
    const auto disk = open_data(samples.source, 4 << 20);
    ASSERT_GT(disk->lookahead(), 0);
    const DataLoaderOptions options{.batch_size = 31, .shuffle = true};
    const auto before = tests::bytes_read();
    std::vector<Batch> read;
    for (auto&& batch : DataLoader(*disk, options)(3)) read.push_back(std::move(batch));
    EXPECT_LT(tests::bytes_read() - before, samples.bytes() * 5 / 2);
    auto found = read.begin();
    for (const auto& [id, x, y] : DataLoader(*whole, options)(3)) {
        ASSERT_NE(found, read.end());
        EXPECT_EQ(found->id, id);
        EXPECT_THAT(found->x.values(), testing::ElementsAreArray(x.values()));
        EXPECT_THAT(found->y.values<std::int64_t>(), testing::ElementsAreArray(y.values<std::int64_t>()));
        ++found;
    }
    EXPECT_EQ(found, read.end());
}

/// Samples are told of before they are gathered, in that order.
class Reported final : public DataSource {
  public:
    std::int64_t size() const override { return 1000; }
    std::int64_t features() const override { return 1; }
    std::int64_t classes() const override { return 1000; }
    std::uint64_t fingerprint() const override { return 1; }
    void gather(std::span<const std::int64_t> samples, std::span<float> x,
                std::span<std::int64_t> labels) const override {
        for (std::size_t i = 0; i < samples.size(); ++i) {
            was_reported = was_reported && !coming.empty() && coming.front() == samples[i];
            if (!coming.empty()) coming.pop_front();
            x[i] = static_cast<float>(samples[i]);
            labels[i] = samples[i];
        }
    }
    std::int64_t lookahead() const override { return 64; }
    void expect(std::span<const std::int64_t> samples) const override {
        was_reported = was_reported && samples.size() <= 64;
        coming.assign(samples.begin(), samples.end());
    }
    mutable std::deque<std::int64_t> coming;
    mutable bool was_reported = true;
};

TEST(DataLoading, SourcesAreToldWhatComes) {
    const Reported data;
    {
        const auto epoch = DataLoader(data, {.batch_size = 10, .shuffle = true, .order_seed = 9})(2);
        const auto order = shuffled_order(1000, 9, 2);
        std::vector<std::int64_t> labels;
        for (const auto& [id, x, y] : epoch)
            labels.insert(labels.end(), y.values<std::int64_t>().begin(), y.values<std::int64_t>().end());
        EXPECT_EQ(labels, order);
        // Once more, left early; any batch can be asked for again.
        auto batch = epoch.begin();
        for (int i = 0; i < 7; ++i) ++batch;
        for (int time = 0; time < 2; ++time)
            EXPECT_THAT((*batch).y.values<std::int64_t>(),
                        testing::ElementsAreArray(std::span(order).subspan(70, 10)));
        const auto first = *epoch.begin();
        EXPECT_THAT(first.y.values<std::int64_t>(), testing::ElementsAreArray(std::span(order).first(10)));
    }
    EXPECT_TRUE(data.was_reported);
}

TEST(DataLoading, WhatCannotBeReadIsThrownInTheLoop) {
    class Broken final : public DataSource {
      public:
        std::int64_t size() const override { return 100; }
        std::int64_t features() const override { return 1; }
        std::int64_t classes() const override { return 1; }
        std::uint64_t fingerprint() const override { return 1; }
        void gather(std::span<const std::int64_t> samples, std::span<float>,
                    std::span<std::int64_t>) const override {
            if (samples[0] >= 50) throw UsageError("sample 50 is damaged");
        }
        std::int64_t lookahead() const override { return 20; }
    };
    const Broken data;
    int batches = 0;
    EXPECT_EQ(message_of([&] {
                  for (const auto& batch : DataLoader(data, {.batch_size = 10})(0))
                      batches += batch.id >= 0 ? 1 : 0;
              }),
              "sample 50 is damaged");
    EXPECT_EQ(batches, 5);
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
