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
#include <dtrain/state_checkpoints.hpp>

#include "native/classifier.hpp"
#include "native/trainer.hpp"
#include "support/temporary_folder.hpp"

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

TrainSettings small_batches(std::int64_t batch) {
    TrainSettings settings;
    settings.batch = batch;
    settings.optimizer = Sgd{0.5};
    settings.seed = 4;
    return settings;
}

/// A linear classifier.
Trainer trainer_of(const TrainSettings& settings, const std::shared_ptr<const DataSource>& train,
                   const std::shared_ptr<const DataSource>& test) {
    const ModelSettings linear{.hidden = {}};
    return {settings, std::make_unique<ClassifierTask>(linear, train, test), {}, 1};
}

TEST(Trainer, LearnsWhatCanBeLearnt) {
    auto trainer = trainer_of(small_batches(4), two_clouds(), two_clouds());
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
        auto trainer = trainer_of(small_batches(10), two_clouds(), two_clouds());
        return trainer.test().value();
    }();
    EXPECT_EQ(reference.samples, 10);
    EXPECT_NEAR(*reference.accuracy * 10, std::round(*reference.accuracy * 10), 1e-12);
    for (const std::int64_t batch : {1, 3, 4, 7, 64}) {
        auto trainer = trainer_of(small_batches(batch), two_clouds(), two_clouds());
        const auto metrics = trainer.test().value();
        EXPECT_EQ(metrics.samples, 10);
        EXPECT_EQ(metrics.accuracy, reference.accuracy) << batch;
        EXPECT_NEAR(metrics.loss, reference.loss, 1e-6) << batch;
    }
}

TEST(Trainer, RepeatsBitForBitAndDependsOnTheSeed) {
    const auto checksum_after = [](std::uint64_t seed) {
        auto settings = small_batches(3);
        settings.seed = seed;
        auto trainer = trainer_of(settings, two_clouds(), nullptr);
        for (int epoch = 0; epoch < 3; ++epoch) trainer.train_epoch();
        return trainer.checksum();
    };
    EXPECT_EQ(checksum_after(1), checksum_after(1));
    EXPECT_NE(checksum_after(1), checksum_after(2));
}

TEST(Trainer, StopsBetweenStepsAndGoesOnWithTheSameBits) {
    const auto trainer = [] { return trainer_of(small_batches(3), two_clouds(), nullptr); };
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
    auto trainer = trainer_of(small_batches(3), two_clouds(), nullptr);
    const auto beginning = trainer.checksum();
    trainer.train_epoch();
    save_checkpoint_directory(folder / "one", to_checkpoint(trainer.state(), trainer.header()));
    const auto shard = folder / "one/shard-0000.h5";
    auto bytes = tests::bytes_of(shard);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);  // found when all values are read already
    tests::write_bytes(shard, bytes);
    auto other = trainer_of(small_batches(3), two_clouds(), nullptr);
    EXPECT_THROW(other.resume({folder / "one"}, {}), UsageError);
    EXPECT_EQ(other.checksum(), beginning);
}

TEST(Trainer, WithoutTestDataThereIsNoTest) {
    auto trainer = trainer_of(small_batches(4), two_clouds(), nullptr);
    EXPECT_FALSE(trainer.test().has_value());
}

TEST(Trainer, TestDataMustFitTrainingData) {
    const auto other =
        std::make_shared<Dataset>(std::vector<float>{1, 2, 3}, std::vector<std::int64_t>{0}, 3);
    EXPECT_THROW(trainer_of(small_batches(4), two_clouds(), other), UsageError);
}

TEST(Trainer, ALossThatIsNoNumberIsAnError) {
    auto settings = small_batches(4);
    settings.optimizer = Sgd{1e29};
    auto trainer = trainer_of(settings, two_clouds(1e20F), nullptr);
    try {
        for (int epoch = 0; epoch < 5; ++epoch) trainer.train_epoch();
        FAIL() << "the loss stayed finite";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("smaller learning_rate"));
    }
}

}  // namespace
}  // namespace dtrain::native
