// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: a problem whose answer is known (two clouds of points, one on each side of a line) must be learnt;
// metrics are checked against a count over the padded slots; one rank needs no MPI.
#include <cmath>
#include <filesystem>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "support/temporary_folder.hpp"
#include "worker/native/state_checkpoint.hpp"
#include "worker/native/trainer.hpp"

namespace dtrain::native {
namespace {

/// 2 x 5 points on a grid right and left of the axis, labelled by the side.
std::shared_ptr<const DataSource> two_clouds(float size = 1) {
    std::vector<float> x;
    std::vector<std::int64_t> labels;
    for (int i = 0; i < 5; ++i)
        for (const int side : {-1, 1}) {
            x.insert(x.end(), {size * static_cast<float>(side) * (1.0F + 0.1F * static_cast<float>(i)),
                               size * (static_cast<float>(i) - 2.0F)});
            labels.push_back(side > 0 ? 1 : 0);
        }
    return std::make_shared<Dataset>(std::move(x), std::move(labels), 2);
}

Job small_job(std::int64_t batch) {
    Job job;
    job.model = {{}, "relu"};
    job.train.batch = batch;
    job.train.optimizer = Sgd{0.5};
    job.train.seed = 4;
    return job;
}

TEST(Trainer, LearnsWhatCanBeLearnt) {
    Trainer trainer(small_job(4), two_clouds(), two_clouds(), {}, 1);
    EXPECT_EQ(trainer.steps_per_epoch(), 3);
    const auto first = trainer.train_epoch().value();
    Metrics last;
    for (int epoch = 1; epoch < 30; ++epoch) last = trainer.train_epoch().value();
    EXPECT_EQ(trainer.epochs_done(), 30);
    EXPECT_EQ(trainer.steps_done(), 90);
    EXPECT_LT(last.loss, first.loss / 4);
    EXPECT_EQ(last.accuracy, 1);
    EXPECT_EQ(trainer.test()->accuracy, 1);
}

// With any batch the metrics of the test set are the same mean over the 10 samples, so padding is not
// counted.
TEST(Trainer, PaddingIsNotCounted) {
    const auto reference = [] {
        Trainer trainer(small_job(10), two_clouds(), two_clouds(), {}, 1);
        return trainer.test().value();
    }();
    EXPECT_EQ(reference.samples, 10);
    EXPECT_NEAR(reference.accuracy * 10, std::round(reference.accuracy * 10), 1e-12);
    for (const std::int64_t batch : {1, 3, 4, 7, 64}) {
        Trainer trainer(small_job(batch), two_clouds(), two_clouds(), {}, 1);
        const auto metrics = trainer.test().value();
        EXPECT_EQ(metrics.samples, 10);
        EXPECT_EQ(metrics.accuracy, reference.accuracy) << batch;
        EXPECT_NEAR(metrics.loss, reference.loss, 1e-6) << batch;
    }
}

TEST(Trainer, RepeatsBitForBitAndDependsOnTheSeed) {
    const auto checksum_after = [](std::uint64_t seed) {
        auto job = small_job(3);
        job.train.seed = seed;
        Trainer trainer(job, two_clouds(), nullptr, {}, 1);
        for (int epoch = 0; epoch < 3; ++epoch) trainer.train_epoch();
        return trainer.checksum();
    };
    EXPECT_EQ(checksum_after(1), checksum_after(1));
    EXPECT_NE(checksum_after(1), checksum_after(2));
}

TEST(Trainer, StopsBetweenStepsAndGoesOnWithTheSameBits) {
    const auto trainer = [] { return Trainer(small_job(3), two_clouds(), nullptr, {}, 1); };
    auto undisturbed = trainer();
    auto stopping = trainer();
    for (int epoch = 0; epoch < 3; ++epoch) {
        const auto expected = undisturbed.train_epoch().value();
        std::optional<Metrics> metrics;
        int parts = 0;
        for (; !metrics; ++parts) metrics = stopping.train_epoch([] { return false; });
        EXPECT_EQ(parts, 4);
        EXPECT_EQ(metrics->loss, expected.loss);
        EXPECT_EQ(metrics->accuracy, expected.accuracy);
        EXPECT_EQ(stopping.checksum(), undisturbed.checksum());
        EXPECT_EQ(stopping.header(), undisturbed.header());
    }
    stopping.train_epoch([] { return false; });
    EXPECT_EQ(stopping.header().epoch, 3);
    EXPECT_EQ(stopping.header().epoch_step, 1);
    EXPECT_EQ(stopping.header().step, 13);
    EXPECT_EQ(stopping.header().sums.at("loss").size(), 1U);
}

TEST(Trainer, ACheckpointThatIsDamagedInItsValuesLeavesTheBeginning) {
    const tests::TemporaryFolder folder;
    Trainer trainer(small_job(3), two_clouds(), nullptr, {}, 1);
    const auto beginning = trainer.checksum();
    trainer.train_epoch();
    Checkpoint checkpoint;
    static_cast<CheckpointHeader&>(checkpoint) = trainer.header();
    store(trainer.state(), checkpoint);
    save_checkpoint_directory(folder / "one", checkpoint);
    const auto shard = folder / "one/shard-0000.h5";
    auto bytes = tests::bytes_of(shard);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);  // found when all values are read already
    tests::write_bytes(shard, bytes);
    Trainer other(small_job(3), two_clouds(), nullptr, {}, 1);
    EXPECT_THROW(other.resume({folder / "one"}, {}), UsageError);
    EXPECT_EQ(other.checksum(), beginning);
}

TEST(Trainer, WithoutTestDataThereIsNoTest) {
    Trainer trainer(small_job(4), two_clouds(), nullptr, {}, 1);
    EXPECT_FALSE(trainer.test().has_value());
}

TEST(Trainer, TestDataMustFitTrainingData) {
    EXPECT_THROW(
        Trainer(small_job(4), two_clouds(),
                std::make_shared<Dataset>(std::vector<float>{1, 2, 3}, std::vector<std::int64_t>{0}, 3), {},
                1),
        UsageError);
}

TEST(Trainer, ALossThatIsNoNumberIsAnError) {
    auto job = small_job(4);
    job.train.optimizer = Sgd{1e29};
    Trainer trainer(job, two_clouds(1e20F), nullptr, {}, 1);
    try {
        for (int epoch = 0; epoch < 5; ++epoch) trainer.train_epoch();
        FAIL() << "the loss stayed finite";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("smaller learning_rate"));
    }
}

}  // namespace
}  // namespace dtrain::native
