// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: the bits of a run that nobody stopped or saved; the folder's names as include/dtrain/checkpoint.hpp
// has them; for EarlyStop, sequences whose end is counted by hand.
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/model.hpp>

#include "small_models.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;

class Recorder final : public Callback {
  public:
    void on_begin(Model&, const std::vector<std::string>& metric_names) override { names = metric_names; }
    bool on_epoch_end(Model& model, const EpochRecord& record) override {
        EXPECT_EQ(model.epochs_done(), record.epoch);
        for (const auto& name : names) EXPECT_TRUE(record.measure(name).has_value()) << name;
        epochs.push_back(record.epoch);
        return record.epoch < last;
    }

    std::vector<std::string> names;
    std::vector<std::int64_t> epochs;
    std::int64_t last = 100;
};

TEST(Callbacks, AreCalledAfterEachEpochAndMayStop) {
    const auto data = three_classes(30);
    const auto recorder = std::make_shared<Recorder>();
    recorder->last = 3;
    auto model = prepared_model();
    const auto history = model.fit(data, {.eval = data, .epochs = 9, .callbacks = {recorder}});
    EXPECT_THAT(recorder->epochs, testing::ElementsAre(1, 2, 3));
    EXPECT_THAT(recorder->names, testing::ElementsAre("loss", "accuracy", "eval_loss", "eval_accuracy"));
    EXPECT_EQ(history.size(), 3U);
    EXPECT_EQ(history[1].measure("eval_accuracy"), history[1].eval->metrics.at("accuracy"));
    EXPECT_EQ(history[1].measure("loss"), history[1].train.loss);
    EXPECT_FALSE(history[1].measure("auc").has_value());
    EXPECT_FALSE(EpochRecord().measure("eval_loss").has_value());
}

TEST(Callbacks, MeasuresIsTheFormerNameOfMetrics) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    EXPECT_EQ(Measures{.loss = 2}, Metrics{.loss = 2});
#pragma GCC diagnostic pop
}

TEST(Callbacks, WhatOneThrowsComesOutOfFit) {
    class Failing final : public Callback {
        bool on_epoch_end(Model&, const EpochRecord&) override { throw std::out_of_range("enough"); }
    };
    auto model = prepared_model();
    EXPECT_EQ(tests::message_of<std::out_of_range>(
                  [&] { model.fit(three_classes(30), {.callbacks = {std::make_shared<Failing>()}}); }),
              "enough");
}

TEST(EpochLines, SayWhatEachEpochWasLike) {
    auto model = small_model();
    EpochLines lines;
    testing::internal::CaptureStdout();
    lines.on_begin(model, {"loss", "accuracy", "eval_loss"});
    EpochRecord record{.epoch = 3, .train = {.loss = 0.5, .metrics = {{"accuracy", 0.25}}}};
    record.eval = Metrics{.loss = 2};
    EXPECT_TRUE(lines.on_epoch_end(model, record));
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "epoch   3  loss 0.5000  accuracy 0.2500  eval_loss 2.0000\n");
}

TEST(EarlyStop, CountsEpochsWithoutABetterValue) {
    const auto stopped_after = [](const EarlyStop::Options& options, const std::vector<double>& values) {
        auto model = small_model();
        EarlyStop stop(options);
        stop.on_begin(model, {"loss", "accuracy", "eval_loss", "eval_accuracy"});
        EpochRecord record;
        for (const auto value : values) {
            ++record.epoch;
            record.eval = Metrics{.loss = value, .metrics = {{"accuracy", value}}};
            if (!stop.on_epoch_end(model, record)) break;
        }
        return std::pair(record.epoch, stop.best()->epoch);
    };
    using Pair = std::pair<std::int64_t, std::int64_t>;
    EXPECT_EQ(stopped_after({.patience = 2}, {5, 4, 3, 3, 3, 1}), Pair(5, 3));
    EXPECT_EQ(stopped_after({.patience = 3}, {5, 4, 3, 3, 3, 1}), Pair(6, 6));
    EXPECT_EQ(stopped_after({.patience = 1}, {5, 4, 6, 1}), Pair(3, 2));
    EXPECT_EQ(stopped_after({.patience = 2, .min_delta = 0.5}, {5, 4.8, 4.6, 4, 1}), Pair(3, 1));
    EXPECT_EQ(stopped_after({.monitor = "eval_accuracy", .patience = 2}, {1, 2, 3, 2, 1, 9}), Pair(5, 3));
}

TEST(EarlyStop, EndsAFitWhoseLossGoesUp) {
    const auto data = three_classes(30);
    auto model = prepared_model({}, Sgd{0.0});  // learns nothing: no epoch is better than the first
    const auto stop = std::make_shared<EarlyStop>(EarlyStop::Options{.patience = 2});
    const auto history = model.fit(data, {.eval = data, .epochs = 50, .callbacks = {stop}});
    EXPECT_EQ(history.size(), 3U);
    EXPECT_EQ(stop->best()->value, history[0].eval->loss);
    EXPECT_EQ(model.fit(data, {.eval = data, .epochs = 50, .callbacks = {stop}}).size(), 3U) << "begins anew";
}

TEST(EarlyStop, RefusesWhatItCannotWatch) {
    const auto data = three_classes(30);
    auto model = prepared_model();
    const auto refusal = [&](const EarlyStop::Options& options) {
        return tests::message_of(
            [&] { model.fit(data, {.callbacks = {std::make_shared<EarlyStop>(options)}}); });
    };
    EXPECT_THAT(refusal({}), HasSubstr("monitor is 'eval_loss', but this fit() measures loss, accuracy"));
    EXPECT_THAT(refusal({.monitor = "acc"}), HasSubstr("'acc'"));
    EXPECT_THAT(refusal({.patience = 0}), HasSubstr("patience is 0"));
    EXPECT_THAT(refusal({.min_delta = -1}), HasSubstr("min_delta -1"));
    EXPECT_EQ(model.steps_done(), 0);
}

TEST(Checkpoints, SavedAndLoadedGoesOnBitForBit) {
    const tests::TemporaryFolder folder;
    const auto data = three_classes(50);
    auto undisturbed = prepared_model({.seed = 5});
    const auto expected = undisturbed.fit(data, {.eval = data, .epochs = 5, .batch_size = 16});
    for (const auto format : {CheckpointFormat::file, CheckpointFormat::directory}) {
        const auto path = folder / (format == CheckpointFormat::file ? "a.h5" : "a");
        auto first = prepared_model({.seed = 5});
        first.fit(data, {.epochs = 2, .batch_size = 16});
        first.save(path, format);
        auto second = prepared_model({.seed = 99});  // the checkpoint's seed counts
        second.load(path);
        EXPECT_EQ(second.epochs_done(), 2);
        const auto history = second.fit(data, {.eval = data, .epochs = 3, .batch_size = 16});
        EXPECT_EQ(second.checkpoint(), undisturbed.checkpoint());
        EXPECT_EQ(history.back().epoch, 5);
        EXPECT_EQ(history.back().train, expected.back().train);
        EXPECT_EQ(history.back().eval, expected.back().eval);
    }
    EXPECT_EQ(load_checkpoint(folder / "a.h5"), load_checkpoint(folder / "a"));
}

TEST(Checkpoints, ADeepNetworkIsSavedWithAllItsOperators) {
    const tests::TemporaryFolder folder;
    const auto deep = [](int last) {
        Model model(
            [last](Program& program, const std::string& x) {
                auto hidden = x;
                for (int i = 0; i < 400; ++i) hidden = layers::scale(program, hidden, i == 399 ? last : 1);
                return layers::fc(program, hidden, 3);
            },
            {"x", {4}}, {"label", {}, DataType::int64});
        model.prepare(Sgd{}, CrossEntropyLoss{});
        return model;
    };
    auto model = deep(2);
    model.save(folder / "deep.h5");
    model.save(folder / "deep", CheckpointFormat::directory);
    for (const auto* name : {"deep.h5", "deep"}) {
        EXPECT_NO_THROW(deep(2).load(folder / name));
        auto other = deep(3);
        EXPECT_THAT(tests::message_of([&] { other.load(folder / name); }), HasSubstr("operator 400 scale("));
    }
}

TEST(Checkpoints, KeepsTheLastOnesAndTheNewestIsLoaded) {
    const tests::TemporaryFolder folder;
    const auto data = three_classes(30);
    const auto fit = [&](Model& model, std::int64_t epochs, const Checkpoints::Options& options) {
        model.fit(data,
                  {.epochs = epochs, .callbacks = {std::make_shared<Checkpoints>(folder.path(), options)}});
    };
    auto model = prepared_model();
    EXPECT_FALSE(model.load_newest(folder.path()).has_value());
    fit(model, 7, {.keep = 2, .every = 2});
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
        names.insert(entry.path().filename());
    EXPECT_THAT(names, testing::ElementsAre("epoch-000004.h5", "epoch-000006.h5", "latest"));

    auto other = prepared_model();
    EXPECT_EQ(other.load_newest(folder.path()), folder / "epoch-000006.h5");
    EXPECT_EQ(other.epochs_done(), 6);
    fit(other, 1, {});
    EXPECT_EQ(other.checkpoint(), model.checkpoint());

    auto bytes = tests::bytes_of(folder / "epoch-000007.h5");
    tests::write_bytes(folder / "epoch-000007.h5", bytes.substr(0, bytes.size() / 2));
    std::string warned;
    EXPECT_EQ(other.load_newest(folder.path(), [&](const std::string& text) { warned = text; }),
              folder / "epoch-000006.h5");
    EXPECT_THAT(warned, HasSubstr("epoch-000007.h5"));
    EXPECT_THROW(Checkpoints(folder.path(), {.keep = 0}), UsageError);
}

}  // namespace
}  // namespace dtrain
