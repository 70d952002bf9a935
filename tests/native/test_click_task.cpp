// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: logs whose clicks follow from one id, which must be learnt; a test log of ids that are all unknown,
// which no model ranks; the same metrics for any batch.
#include <filesystem>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "data/click_cache.hpp"
#include "native/best_auc.hpp"
#include "native/click_caches.hpp"
#include "native/click_task.hpp"
#include "native/trainer.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::native {
namespace {

using testing::HasSubstr;
using tests::message_of;

constexpr std::int64_t min = std::numeric_limits<std::int64_t>::min();

/// 30 samples of two slots; those of one id in the first slot are clicked on.
ClickLog clicks(std::int64_t first_id, std::int64_t integers = 1) {
    ClickLog log{.integers = integers, .slots = 2};
    for (std::int64_t i = 0; i < 30; ++i) {
        log.labels.push_back(i % 3 == 1 ? 1.0F : 0.0F);
        for (std::int64_t k = 0; k < integers; ++k) log.dense.push_back(static_cast<float>(i % 4));
        log.ids.insert(log.ids.end(), {first_id + i % 3, -1 - i % 5});
    }
    return log;
}

Trainer trainer_of(const ClickLog& train, const std::optional<ClickLog>& test, std::int64_t batch = 10) {
    const ModelSettings model{.kind = ModelKind::click_through, .hidden = {8}, .embedding = 4};
    TrainSettings settings;
    settings.batch = batch;
    settings.seed = 3;
    settings.optimizer = Adam{0.02};
    return {settings, std::make_unique<ClickTask>(model, train, test), {}, 1};
}

TEST(ClickTask, LearnsWhatCanBeLearnt) {
    auto trainer = trainer_of(clicks(min), clicks(min));
    EXPECT_EQ(trainer.model().description, "8 ids x 4, 9-8-1 relu");
    EXPECT_EQ(trainer.task().sample_description(), "2 ids and 1 number each");
    const auto first = trainer.train_epoch().value();
    for (int epoch = 1; epoch < 60; ++epoch) trainer.train_epoch();
    const auto test = trainer.test().value();
    EXPECT_EQ(test.auc, 1);
    EXPECT_LT(test.loss, first.loss / 4);
    EXPECT_FALSE(test.accuracy.has_value());
}

TEST(ClickTask, WhatTrainingDidNotSeeReadsAsZeros) {
    auto test = clicks(0, 0);
    for (auto& id : test.ids) id += 1000;
    auto trainer = trainer_of(clicks(min, 0), test);
    for (int epoch = 0; epoch < 5; ++epoch) trainer.train_epoch();
    EXPECT_EQ(trainer.test()->auc, 0.5) << "all scores are one";
}

TEST(ClickTask, PaddingIsNotCounted) {
    const auto metrics_with = [](std::int64_t batch) {
        return trainer_of(clicks(1), clicks(1), batch).test().value();
    };
    const auto reference = metrics_with(30);
    EXPECT_GT(reference.loss, 0);
    for (const std::int64_t batch : {1, 7, 11, 64}) {
        const auto metrics = metrics_with(batch);
        EXPECT_EQ(metrics.samples, 30);
        EXPECT_NEAR(metrics.loss, reference.loss, 1e-6) << batch;
        EXPECT_NEAR(*metrics.auc, *reference.auc, 1e-9) << batch;
    }
}

TEST(ClickTask, StopsBetweenStepsAndGoesOnWithTheSameBits) {
    auto undisturbed = trainer_of(clicks(5), {});
    auto stopping = trainer_of(clicks(5), {});
    const auto expected = undisturbed.train_epoch().value();
    std::optional<Metrics> metrics;
    while (!metrics) metrics = stopping.train_epoch([] { return false; });
    EXPECT_EQ(metrics->loss, expected.loss);
    EXPECT_EQ(stopping.header(), undisturbed.header());
    EXPECT_EQ(stopping.checksum(), undisturbed.checksum());
    EXPECT_FALSE(stopping.test().has_value());
    stopping.train_epoch([] { return false; });
    EXPECT_TRUE(stopping.header().sums.contains("loss"));
    EXPECT_EQ(stopping.header().sums.size(), 1U);
}

TEST(ClickTask, LogsMustFitTogether) {
    EXPECT_EQ(message_of([] { trainer_of(clicks(1, 2), clicks(1, 1)); }),
              "training samples have 2 numbers and 2 ids, but test samples 1 and 2");
}

TEST(ClickTask, MemoryIsLimited) {
    const tests::TemporaryFolder folder;
    tests::write_bytes(folder / "c.tsv", "1\t5\ta\tb\n0\t6\tc\td\n");
    Job job;
    job.train_data.file = folder / "c.tsv";
    job.click_columns = ClickColumns{1, 2};
    job.data_memory = 2 * (4 + 4 + 2 * 8);
    EXPECT_EQ(open_click_task(job, false)->train_samples(), 2);
    EXPECT_EQ(open_click_task(job, false)->test_samples(), 0);
    --job.data_memory;
    EXPECT_THAT(message_of([&] { open_click_task(job, false); }),
                HasSubstr("2 samples need 48 bytes of memory, but [data] memory allows 47"));
}

class CachedClicks : public testing::Test {
  protected:
    CachedClicks() {
        std::string lines;
        for (int i = 0; i < 6000; ++i)
            lines += fmt::format("{}\t{}\t{:x}\t{:x}\n", i % 3 == 1 ? 1 : 0, i % 4, i % 3, i * i % 101);
        tests::write_bytes(folder / "c.tsv", lines);
        job.model = {.kind = ModelKind::click_through, .hidden = {8}, .embedding = 4};
        job.train_data.file = folder / "c.tsv";
        job.test_data = job.train_data;
        job.click_columns = ClickColumns{1, 2};
    }

    Trainer trainer(bool is_cached) {
        job.click_cache = is_cached ? std::optional(folder / "cache") : std::nullopt;
        job.data_memory = is_cached ? 50'000 : 1'000'000;
        prepare_click_caches(job, {}, &alone, Console("test", false));
        TrainSettings settings;
        settings.batch = 100;
        return {settings, open_click_task(job, false), {}, 1};
    }

    const tests::TemporaryFolder folder;
    const Communicator alone;
    Job job;
};

TEST_F(CachedClicks, TrainToTheSameBits) {
    auto in_memory = trainer(false);
    auto cached = trainer(true);
    for (int epoch = 0; epoch < 3; ++epoch) {
        EXPECT_EQ(cached.train_epoch()->loss, in_memory.train_epoch()->loss);
        EXPECT_EQ(cached.test()->loss, in_memory.test()->loss);
        EXPECT_EQ(cached.test()->auc, in_memory.test()->auc);
    }
    EXPECT_EQ(cached.header(), in_memory.header()) << "with the log's fingerprint";
    EXPECT_EQ(cached.checksum(), in_memory.checksum());
    EXPECT_EQ(cached.model().description, in_memory.model().description);
}

TEST_F(CachedClicks, ACacheThatIsDamagedWhileTheJobTrainsIsRemoved) {
    auto training = trainer(true);
    training.train_epoch();
    const auto cache = data::click_cache_of(job.train_data.file, *job.click_cache);
    auto bytes = tests::bytes_of(cache);
    bytes[bytes.size() - 100] ^= 1;
    tests::write_bytes(cache, bytes);
    EXPECT_EQ(message_of<Error>([&] { training.train_epoch(); }),
              cache.string() +
                  ": samples 5461 to 6000 are damaged; this cache is removed now, and made anew "
                  "when the job starts again");
    EXPECT_FALSE(std::filesystem::exists(cache));
    EXPECT_EQ(trainer(true).task().train_samples(), 6000);
    EXPECT_TRUE(std::filesystem::exists(cache));
}

TEST(BestAuc, StandsBesideTheLog) {
    const tests::TemporaryFolder folder;
    EXPECT_EQ(best_auc_of(folder / "test.tsv"), std::nullopt);
    tests::write_bytes(folder / "test.tsv.json", R"({"samples": 5, "best_auc": 0.75})");
    EXPECT_EQ(best_auc_of(folder / "test.tsv"), 0.75);
    for (const char* wrong : {"", "{", "[]", "{}", R"({"best_auc": "0.7"})", R"({"best_auc": 1.5})"}) {
        tests::write_bytes(folder / "test.tsv.json", wrong);
        EXPECT_THAT(message_of([&] { best_auc_of(folder / "test.tsv"); }),
                    HasSubstr("test.tsv.json: it has no \"best_auc\" from 0 to 1"))
            << wrong;
    }
}

}  // namespace
}  // namespace dtrain::native
