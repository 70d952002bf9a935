// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: the same file read into memory as a whole (test_dataset.cpp checks that), and a counting source
// that knows what was asked of it.
#include <atomic>
#include <filesystem>
#include <limits>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/dataset.hpp>
#include <dtrain/error.hpp>
#include <dtrain/sampler.hpp>

#include "data/prefetcher.hpp"
#include "storage/hdf5_file.hpp"
#include "support/chunked_samples.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::TemporaryFolder;

constexpr std::int64_t everything = std::numeric_limits<std::int64_t>::max();

DatasetSource write_samples(const std::filesystem::path& path, std::int64_t count, std::int64_t features) {
    std::vector<float> x(static_cast<std::size_t>(count * features));
    std::iota(x.begin(), x.end(), 0.25F);
    std::vector<std::int64_t> y(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int64_t>(i * i % 5);
    auto file = storage::Hdf5File::create(path);
    file.write("x", std::vector{count, features}, std::span<const float>(x));
    file.write("y", std::vector{count}, std::span<const std::int64_t>(y));
    file.close();
    DatasetSource source;
    source.file = path;
    source.scale = 0.5F;
    return source;
}

struct Batches {
    std::vector<float> x;
    std::vector<std::int64_t> labels;
    std::vector<float> weights;
    friend bool operator==(const Batches&, const Batches&) = default;
};

template <class Values>
void append_to(std::vector<Values>& all, const std::vector<Values>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

Batches prefetched(data::Prefetcher& prefetcher, std::int64_t epoch, std::int64_t first, std::int64_t steps) {
    Batches out;
    prefetcher.start(epoch, first);
    for (auto step = first; step < steps; ++step) {
        const auto& batch = prefetcher.next();
        append_to(out.x, batch.x);
        append_to(out.labels, batch.labels);
        append_to(out.weights, batch.weights);
    }
    return out;
}

Batches gathered(const DataSource& data, DistributedSampler sampler, std::int64_t epoch, std::int64_t first) {
    Batches out;
    sampler.start_epoch(epoch);
    for (auto step = first; step < sampler.steps(); ++step) {
        const auto batch = sampler.batch(step);
        std::vector<float> x(batch.samples.size() * static_cast<std::size_t>(data.features()));
        std::vector<std::int64_t> labels(batch.samples.size());
        data.gather(batch.samples, x, labels);
        append_to(out.x, x);
        append_to(out.labels, labels);
        out.weights.insert(out.weights.end(), batch.weights.begin(), batch.weights.end());
    }
    return out;
}

TEST(DiskDataset, GivesTheSamplesOfTheSameFileInMemory) {
    const TemporaryFolder folder;
    const auto source = write_samples(folder / "d.h5", 1003, 6);
    const auto whole = open_data(source, everything);
    EXPECT_EQ(whole->lookahead(), 0);
    for (const std::int64_t memory : {1, 24, 100, 2000, 10'000, 24'071}) {
        const auto disk = open_data(source, memory);
        EXPECT_GT(disk->lookahead(), 0);
        EXPECT_LE(disk->lookahead() * 24, std::max<std::int64_t>(memory, 48));
        EXPECT_EQ(disk->size(), 1003);
        EXPECT_EQ(disk->features(), 6);
        EXPECT_EQ(disk->classes(), whole->classes());
        for (const int ranks : {1, 3}) {
            const DistributedSampler sampler({1003, 64, ranks - 1, ranks, 5});
            data::Prefetcher prefetcher(disk, sampler);
            for (std::int64_t epoch = 0; epoch < 3; ++epoch)
                EXPECT_EQ(prefetched(prefetcher, epoch, epoch, sampler.steps()),
                          gathered(*whole, sampler, epoch, epoch))
                    << "memory " << memory << ", epoch " << epoch;
            EXPECT_EQ(gathered(*disk, sampler, 0, 0), gathered(*whole, sampler, 0, 0));
        }
    }
}

// Oracle: the kernel's count of bytes. A batch of 320 samples read 320 chunks, now each of the four once.
TEST(DiskDataset, ABatchThatWasNotToldReadsEachChunkOnce) {
    const TemporaryFolder folder;
    const tests::ChunkedSamples samples(folder / "d.h5");
    const auto whole = open_data(samples.source, everything);
    const auto disk = open_data(samples.source, 4 << 20);
    ASSERT_GT(disk->lookahead(), 0);
    const auto order = shuffled_order(tests::ChunkedSamples::count, 1, 0);
    const auto batch = std::span(order).first(320);
    std::vector<float> x(320 * 1024), expected_x(x.size());
    std::vector<std::int64_t> labels(320), expected_labels(320);
    const auto before = tests::bytes_read();
    disk->gather(batch, x, labels);
    EXPECT_LT(tests::bytes_read() - before, samples.bytes() * 3 / 2);
    whole->gather(batch, expected_x, expected_labels);
    EXPECT_EQ(x, expected_x);
    EXPECT_EQ(labels, expected_labels);
}

TEST(DiskDataset, ThreadsTakeTurns) {
    const TemporaryFolder folder;
    const auto source = write_samples(folder / "d.h5", 503, 6);
    const auto whole = open_data(source, everything);
    const auto disk = open_data(source, 2000);
    const auto use = [&](int rank) {
        const DistributedSampler sampler({503, 20, rank, 2, 5});
        data::Prefetcher prefetcher(disk, sampler);
        for (std::int64_t epoch = 0; epoch < 4; ++epoch)
            EXPECT_EQ(prefetched(prefetcher, epoch, 0, sampler.steps()), gathered(*whole, sampler, epoch, 0));
    };
    std::thread other([&] { use(1); });
    use(0);
    other.join();
}

TEST(DiskDataset, FingerprintsTellDataApart) {
    const TemporaryFolder folder;
    const auto one = write_samples(folder / "one.h5", 100, 6);
    const auto two = write_samples(folder / "two.h5", 100, 6);
    const auto other = write_samples(folder / "other.h5", 101, 6);
    EXPECT_EQ(open_data(one, 100)->fingerprint(), open_data(two, 200)->fingerprint());
    EXPECT_NE(open_data(one, 100)->fingerprint(), open_data(other, 100)->fingerprint());
}

TEST(DiskDataset, WhatIsNotFiniteIsFoundWhenItIsRead) {
    const TemporaryFolder folder;
    auto file = storage::Hdf5File::create(folder / "d.h5");
    std::vector<float> x(200, 1);
    x[151] = std::numeric_limits<float>::infinity();
    file.write("x", std::vector<std::int64_t>{100, 2}, std::span<const float>(x));
    file.write("y", std::vector<std::int64_t>{100},
               std::span<const std::int64_t>(std::vector<std::int64_t>(100)));
    file.close();
    DatasetSource source;
    source.file = folder / "d.h5";
    data::Prefetcher prefetcher(open_data(source, 80), DistributedSampler({100, 4, 0, 1, 5}));
    prefetcher.start(0, 0);
    const auto message = tests::message_of([&] {
        for (int step = 0; step < 25; ++step) prefetcher.next();
    });
    EXPECT_THAT(message,
                HasSubstr("d.h5: dataset 'x' has a value that is not finite as float32, in sample 75"));
    EXPECT_EQ(tests::message_of([&] { prefetcher.next(); }), message);
}

/// Whose samples say what they are.
class Counting final : public DataSource {
  public:
    std::int64_t size() const override { return 1000; }
    std::int64_t features() const override { return 1; }
    std::int64_t classes() const override { return 2; }
    std::uint64_t fingerprint() const override { return 1; }
    void gather(std::span<const std::int64_t> samples, std::span<float> x,
                std::span<std::int64_t> labels) const override {
        ++gathers;
        for (std::size_t i = 0; i < samples.size(); ++i) {
            x[i] = static_cast<float>(samples[i]);
            labels[i] = samples[i] % 2;
        }
    }
    mutable std::atomic<int> gathers = 0;
};

TEST(Prefetcher, IsSomeBatchesAheadAndNoMore) {
    const auto data = std::make_shared<Counting>();
    const DistributedSampler sampler({1000, 10, 0, 1, 5});
    data::Prefetcher prefetcher(data, sampler, 4);
    prefetcher.start(0, 0);
    prefetcher.next();
    // 4 buffers, one of them in use.
    while (data->gathers < 4) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(data->gathers, 4);
}

TEST(Prefetcher, MayBeginAnewAtAnyMoment) {
    const auto data = std::make_shared<Counting>();
    const DistributedSampler sampler({1000, 10, 0, 1, 5});
    data::Prefetcher prefetcher(data, sampler);
    for (std::int64_t round = 0; round < 200; ++round) {
        const auto first = round % 97;
        auto expected = gathered(*data, sampler, round, first);
        const auto steps = std::min<std::int64_t>(sampler.steps(), first + 1 + round % 7);
        expected.labels.resize(static_cast<std::size_t>(10 * (steps - first)));
        ASSERT_EQ(prefetched(prefetcher, round, first, steps).labels, expected.labels) << round;
    }
    prefetcher.start(0, sampler.steps());
    EXPECT_THROW(prefetcher.next(), Error);
}

}  // namespace
}  // namespace dtrain
