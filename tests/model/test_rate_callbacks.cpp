// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: the bits of a program whose schedule has the same rates (tests/program has the schedules' own
// oracles), or of a run that was not stopped; for ReduceOnPlateau, rates that are counted by hand.
#include <cmath>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/model.hpp>

#include "small_models.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t steps_of_an_epoch = 3;  // 48 samples, 16 at a time

std::vector<EpochRecord> fit(Model& model, std::int64_t epochs,
                             const std::vector<std::shared_ptr<Callback>>& callbacks) {
    const auto data = three_classes(48);
    return model.fit(data, {.eval = data, .epochs = epochs, .batch_size = 16, .callbacks = callbacks});
}

std::shared_ptr<Callback> rates(RateFunction::Function function) {
    return std::make_shared<RateFunction>(std::move(function));
}

Model scheduled_model(const Optimizer& optimizer, const Decay& decay) {
    auto model = small_model();
    model.prepare(optimizer, CrossEntropyLoss{}, {Accuracy{}}, {.schedule = LearningRateSchedule{decay}});
    return model;
}

TEST(RateFunction, HasTheBitsOfAScheduleWithItsRates) {
    for (const auto& optimizer : {Optimizer(Sgd{0.5}), Optimizer(Adam{0.5}), Optimizer(Ftrl{0.5})}) {
        auto expected = scheduled_model(optimizer, PiecewiseRate{{2, 4}, {0.1, 0.02, 0.0}});
        fit(expected, 2, {});
        auto model = prepared_model({}, optimizer);
        fit(model, 2, {rates([](const NextStep& next) {
                return next.done < 2 ? 0.1 : next.done < 4 ? 0.02 : 0.0;
            })});
        EXPECT_EQ(parameters_checksum(model.state()), parameters_checksum(expected.state()));
        EXPECT_EQ(model.learning_rate(), 0.0);
        EXPECT_FALSE(expected.learning_rate().has_value());
    }
}

TEST(RateFunction, OfPreparesRateChangesNothing) {
    auto expected = prepared_model({}, Sgd{0.125});  // as a float32 it is the same number
    auto model = prepared_model({}, Sgd{0.125});
    EXPECT_EQ(model.learning_rate(), 0.125);
    fit(expected, 3, {});
    fit(model, 3, {rates([](const NextStep& next) { return next.rate; })});
    EXPECT_EQ(parameters_checksum(model.state()), parameters_checksum(expected.state()));
}

TEST(RateFunction, IsAskedForEveryStepInOrder) {
    std::vector<NextStep> calls;
    const auto function = [&](const NextStep& next) {
        calls.push_back(next);
        return next.rate / 2;
    };
    auto model = prepared_model({}, Sgd{1.0});
    fit(model, 1, {rates(function)});
    fit(model, 1, {rates(function)});
    ASSERT_EQ(calls.size(), 2 * steps_of_an_epoch);
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto number = static_cast<std::int64_t>(i);
        EXPECT_EQ(calls[i].epoch, 1 + number / steps_of_an_epoch);
        EXPECT_EQ(calls[i].step, number % steps_of_an_epoch);
        EXPECT_EQ(calls[i].steps, steps_of_an_epoch);
        EXPECT_EQ(calls[i].done, number);
        EXPECT_EQ(calls[i].rate, std::ldexp(1.0, -static_cast<int>(i)));
    }
    EXPECT_EQ(model.learning_rate(), std::ldexp(1.0, -6));
}

TEST(RateFunction, RefusesWhatIsNoRate) {
    auto model = prepared_model();
    const auto refusal = [&](const RateFunction::Function& function) {
        return tests::message_of([&] { fit(model, 3, {rates(function)}); });
    };
    EXPECT_THAT(refusal({}), HasSubstr("function given is empty"));
    EXPECT_THAT(refusal([](const NextStep&) { return std::numeric_limits<double>::quiet_NaN(); }),
                HasSubstr("says nan for step 1 of epoch 1"));
    EXPECT_THAT(refusal([](const NextStep& next) { return next.step == 1 ? -0.5 : 0.5; }),
                HasSubstr("says -0.5 for step 2 of epoch 1"));
    EXPECT_EQ(model.steps_done(), 0) << "before the first step of the epoch";
    EXPECT_EQ(tests::message_of<std::out_of_range>([&] {
                  fit(model, 3, {rates([](const NextStep&) -> double { throw std::out_of_range("mine"); })});
              }),
              "mine");
}

/// Rates of the next epoch, after each of these values of the measure.
std::vector<double> rates_after(const ReduceOnPlateau::Options& options, const std::vector<double>& values) {
    auto model = prepared_model({}, Sgd{1.0});
    ReduceOnPlateau callback(options);
    callback.on_begin(model, {"loss", "eval_loss", "eval_accuracy"});
    EpochRecord record;
    std::vector<double> found;
    for (const auto value : values) {
        ++record.epoch;
        record.eval = Metrics{.loss = value, .metrics = {{"accuracy", value}}};
        callback.on_measured(model, record);
        EXPECT_TRUE(callback.on_epoch_end(model, record));
        found.push_back(model.learning_rate().value());
    }
    return found;
}

TEST(ReduceOnPlateau, CountsEpochsWithoutABetterValue) {
    using Options = ReduceOnPlateau::Options;
    EXPECT_THAT(rates_after(Options{.factor = 0.5, .patience = 2}, {5, 4, 4, 4, 4, 4, 3, 3, 3}),
                ElementsAre(1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125));
    EXPECT_THAT(rates_after(Options{.factor = 0.5, .patience = 1, .min_delta = 0.5}, {5, 4.8, 4.4, 4.1}),
                ElementsAre(1, 0.5, 0.5, 0.25));
    EXPECT_THAT(rates_after(Options{.factor = 0.5, .patience = 2, .cooldown = 2}, {4, 4, 4, 4, 4, 4, 4, 4}),
                ElementsAre(1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25));
    EXPECT_THAT(rates_after(Options{.factor = 0.5, .patience = 1, .min_rate = 0.3}, {4, 4, 4, 4}),
                ElementsAre(1, 0.5, 0.3, 0.3));
    EXPECT_THAT(rates_after(Options{.monitor = "eval_accuracy", .factor = 0.5, .patience = 1}, {1, 2, 1, 3}),
                ElementsAre(1, 1, 0.5, 0.5));
    EXPECT_THAT(rates_after(Options{.factor = 0.5, .patience = 1}, {std::nan(""), 3, std::nan(""), 2}),
                ElementsAre(1, 1, 0.5, 0.5))
        << "what is no number is not better";
}

TEST(ReduceOnPlateau, WorksInAFit) {
    auto model = prepared_model({}, Sgd{0.0});  // learns nothing
    fit(model, 3, {std::make_shared<ReduceOnPlateau>(ReduceOnPlateau::Options{.patience = 1})});
    EXPECT_EQ(model.learning_rate(), 0.0) << "there is no smaller one";
    auto reduced = scheduled_model(Sgd{}, PiecewiseRate{{6, 9}, {0.1, 0.05, 0.025}});
    fit(reduced, 4, {});
    auto plateau = prepared_model({}, Sgd{0.1});
    fit(plateau, 4,
        {std::make_shared<ReduceOnPlateau>(
            ReduceOnPlateau::Options{.factor = 0.5, .patience = 1, .min_delta = 100})});
    EXPECT_EQ(parameters_checksum(plateau.state()), parameters_checksum(reduced.state()));
}

TEST(ReduceOnPlateau, RefusesWhatItCannotDo) {
    auto model = prepared_model();
    const auto refusal = [&](const ReduceOnPlateau::Options& options) {
        return tests::message_of([&] { fit(model, 1, {std::make_shared<ReduceOnPlateau>(options)}); });
    };
    EXPECT_THAT(refusal({.monitor = "acc"}),
                HasSubstr("ReduceOnPlateau: monitor is 'acc', but this fit() measures loss, accuracy, "));
    EXPECT_THAT(refusal({.factor = 1}), HasSubstr("factor is 1"));
    EXPECT_THAT(refusal({.factor = 0}), HasSubstr("factor is 0"));
    EXPECT_THAT(refusal({.patience = 0}), HasSubstr("patience 0"));
    EXPECT_THAT(refusal({.min_delta = -1}), HasSubstr("min_delta -1"));
    EXPECT_THAT(refusal({.cooldown = -2}), HasSubstr("cooldown -2"));
    EXPECT_THAT(refusal({.min_rate = -1}), HasSubstr("min_rate -1"));
    EXPECT_EQ(model.steps_done(), 0);
}

TEST(Rates, OfAScheduleAreThePrograms) {
    auto model = scheduled_model(Adam{}, CosineDecay{.epochs = 9});
    const auto refusal = [&](const std::shared_ptr<Callback>& callback) {
        return tests::message_of([&] { fit(model, 1, {callback}); });
    };
    EXPECT_THAT(refusal(rates([](const NextStep&) { return 0.1; })),
                AllOf(HasSubstr("RateFunction: "), HasSubstr("OptimizerOptions::schedule")));
    EXPECT_THAT(refusal(std::make_shared<ReduceOnPlateau>(ReduceOnPlateau::Options())),
                AllOf(HasSubstr("ReduceOnPlateau: "), HasSubstr("OptimizerOptions::schedule")));
    EXPECT_THAT(tests::message_of([&] { model.set_learning_rate(0.1); }),
                HasSubstr("set_learning_rate(0.1): the program computes its learning rate itself"));
    EXPECT_EQ(model.steps_done(), 0);
}

TEST(Rates, CanBeSetBetweenSteps) {
    class AfterTheSecond final : public Callback {
        void on_step_end(Model& model, const StepRecord& record) noexcept override {
            if (record.epoch == 1 && record.step == 2) model.set_learning_rate(0.0625);
        }
        bool on_epoch_end(Model&, const EpochRecord&) override { return true; }
    };
    auto expected = scheduled_model(Sgd{}, PiecewiseRate{{2}, {0.5, 0.0625}});
    fit(expected, 2, {});
    auto model = prepared_model({}, Sgd{0.5});
    fit(model, 2, {std::make_shared<AfterTheSecond>()});
    EXPECT_EQ(parameters_checksum(model.state()), parameters_checksum(expected.state()));
    EXPECT_THAT(tests::message_of([&] { model.set_learning_rate(-1); }), HasSubstr("set_learning_rate(-1)"));
    EXPECT_THROW(small_model().set_learning_rate(1), NotPreparedError);
    model.prepare(Sgd{0.25}, CrossEntropyLoss{});
    EXPECT_EQ(model.learning_rate(), 0.25) << "prepare() begins anew";
}

TEST(Rates, GoOnFromACheckpointBitForBit) {
    // Checkpoints is named first, and has what ReduceOnPlateau says of the same epoch.
    const auto callbacks = [](const std::filesystem::path& folder) {
        return std::vector<std::shared_ptr<Callback>>{
            std::make_shared<Checkpoints>(folder, Checkpoints::Options{.keep = 9}),
            std::make_shared<ReduceOnPlateau>(
                ReduceOnPlateau::Options{.factor = 0.5, .patience = 2, .min_delta = 100}),
            rates([](const NextStep& next) { return next.rate * 0.9; })};
    };
    const tests::TemporaryFolder folder;
    auto undisturbed = prepared_model({}, Adam{0.1});
    fit(undisturbed, 6, callbacks(folder / "a"));
    for (const std::int64_t stop : {1, 2, 3, 4}) {  // within what is waited for, and at a new rate
        const auto checkpoints = folder / std::to_string(stop);
        auto first = prepared_model({}, Adam{0.1});
        fit(first, stop, callbacks(checkpoints));
        auto second = prepared_model({}, Adam{0.7});  // the checkpoint's rate counts
        second.load_newest(checkpoints);
        EXPECT_EQ(second.learning_rate(), first.learning_rate());
        fit(second, 6 - stop, callbacks(checkpoints));
        EXPECT_EQ(second.checkpoint(), undisturbed.checkpoint()) << stop;
    }
    EXPECT_NEAR(undisturbed.learning_rate().value(), 0.1 * std::pow(0.9, 18) * 0.25, 1e-15);
}

TEST(Rates, OfACheckpointWithoutOneArePrepares) {
    const tests::TemporaryFolder folder;
    auto model = prepared_model({}, Sgd{0.5});
    model.save(folder / "plain.h5");
    model.set_learning_rate(0.25);
    model.keep("mine", {1, 2.5});
    model.save(folder / "set", CheckpointFormat::directory);
    model.load(folder / "plain.h5");
    EXPECT_EQ(model.learning_rate(), 0.5);
    EXPECT_FALSE(model.kept("mine").has_value());
    model.load(folder / "set");
    EXPECT_EQ(model.learning_rate(), 0.25);
    EXPECT_THAT(model.kept("mine").value(), ElementsAre(1, 2.5));
}

TEST(Rates, NumbersAreKeptUnderAName) {
    auto model = prepared_model();
    EXPECT_THAT(tests::message_of([&] { model.keep("a/b", {1}); }), HasSubstr("keep(): 'a/b' with 1 number"));
    EXPECT_THAT(tests::message_of([&] { model.keep("", {1}); }), HasSubstr("keep(): ''"));
    EXPECT_THAT(tests::message_of([&] { model.keep("a", {}); }), HasSubstr("'a' with 0 numbers"));
    EXPECT_THROW(small_model().keep("a", {1}), NotPreparedError);
    EXPECT_THROW(small_model().kept("a"), NotPreparedError);
}

}  // namespace
}  // namespace dtrain
