// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: what fit() returns; batches that are trained and evaluated one by one; steps counted by hand.
// tests/metrics has the files' formats.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <poll.h>
#include <pty.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <dtrain/model.hpp>

#include "base/files.hpp"
#include "small_models.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<json> lines_of(const std::filesystem::path& file) {
    std::vector<json> lines;
    std::istringstream text(tests::bytes_of(file));
    for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
    return lines;
}

std::vector<std::string> events_of(const std::vector<json>& lines) {
    std::vector<std::string> events;
    for (const auto& line : lines) events.push_back(line.at("event"));
    return events;
}

class Failing final : public Callback {
    bool on_epoch_end(Model&, const EpochRecord&) override { throw std::out_of_range("enough <b>"); }
};

TEST(RunRecord, LinesHaveWhatFitReturns) {
    const tests::TemporaryFolder folder;
    const auto data = three_classes(30);
    auto model = prepared_model();
    const auto history = model.fit(data, {.eval = data,
                                          .epochs = 2,
                                          .batch_size = 10,
                                          .callbacks = {std::make_shared<JsonLines>(folder / "m")}});
    const auto lines = lines_of(folder / "m");
    ASSERT_THAT(events_of(lines),
                ElementsAre("begin", "step", "step", "epoch", "step", "step", "epoch", "end"));
    for (std::size_t epoch : {0U, 1U}) {
        const auto& line = lines[3 * (epoch + 1)];
        EXPECT_EQ(line.at("epoch"), epoch + 1);
        EXPECT_EQ(line.at("step"), 3 * (epoch + 1));
        EXPECT_EQ(line.at("train_loss"), history[epoch].train.loss);
        EXPECT_EQ(line.at("train_accuracy"), history[epoch].train.metrics.at("accuracy"));
        EXPECT_EQ(line.at("eval_loss"), history[epoch].eval->loss);
        EXPECT_EQ(line.at("samples_per_second"), 30 / history[epoch].train_seconds);
        EXPECT_LT(history[epoch].train_seconds, history[epoch].seconds);
    }
    EXPECT_EQ(lines.back().at("outcome"), "done");
}

/// Samples `first` to `first` + 10, without those.
Dataset ten_of(const Dataset& data, std::int64_t first) {
    std::vector<std::int64_t> numbers(10);
    std::iota(numbers.begin(), numbers.end(), first);
    std::vector<float> x(40);
    std::vector<std::int64_t> labels(10);
    data.gather(numbers, x, labels);
    return {std::move(x), std::move(labels), 4};
}

TEST(RunRecord, RowsWithinAnEpochHaveTheLossSinceTheRowBefore) {
    const tests::TemporaryFolder folder;
    const auto data = three_classes(50);
    const auto lines_with = [&](const RowOptions& rows) {
        const auto file = folder / ("m" + std::to_string(rows.every_steps.value_or(0)));
        auto model = prepared_model();
        model.fit(
            data,
            {.batch_size = 10, .shuffle = false, .callbacks = {std::make_shared<JsonLines>(file, rows)}});
        return lines_of(file);
    };
    // Each batch as the steps before it have left the model.
    auto by_hand = prepared_model();
    std::vector<double> losses;
    for (std::int64_t first = 0; first < 50; first += 10) {
        const auto batch = ten_of(data, first);
        losses.push_back(by_hand.evaluate(batch).loss);
        by_hand.fit(batch, {.batch_size = 10, .shuffle = false});
    }
    const auto each = lines_with({.every_steps = 1});
    ASSERT_THAT(events_of(each), ElementsAre("begin", "step", "step", "step", "step", "epoch", "end"));
    for (std::size_t step = 0; step < 4; ++step) {
        EXPECT_NEAR(each[step + 1].at("loss"), losses[step], 1e-6) << step;
        EXPECT_EQ(each[step + 1].at("step"), step + 1);
        EXPECT_EQ(each[step + 1].at("epoch"), 1);
        EXPECT_EQ(each[step + 1].at("learning_rate"), 0.01);
        EXPECT_GT(each[step + 1].at("samples_per_second"), 0);
    }
    const auto pairs = lines_with({.every_steps = 2});
    ASSERT_THAT(events_of(pairs), ElementsAre("begin", "step", "step", "epoch", "end"));
    EXPECT_NEAR(pairs[1].at("loss"), (losses[0] + losses[1]) / 2, 1e-6);
    EXPECT_NEAR(pairs[2].at("loss"), (losses[2] + losses[3]) / 2, 1e-6);
    EXPECT_THAT(events_of(lines_with({.every_steps = 9})), ElementsAre("begin", "epoch", "end"));
}

TEST(RunRecord, AnEpochHasAboutTwentyRows) {
    const tests::TemporaryFolder folder;
    auto model = prepared_model();
    model.fit(three_classes(100),
              {.epochs = 2, .batch_size = 1, .callbacks = {std::make_shared<JsonLines>(folder / "m")}});
    const auto events = events_of(lines_of(folder / "m"));
    EXPECT_EQ(std::ranges::count(events, "step"), 2 * 19);  // the last of 100 steps has the epoch's
}

TEST(RunRecord, RowsHaveTheRateOfTheirStep) {
    const tests::TemporaryFolder folder;
    auto model = prepared_model({}, Sgd{1});
    // Whichever of the two is called first.
    const auto halves = std::make_shared<RateFunction>([](const NextStep& next) { return next.rate / 2; });
    const RowOptions rows{.every_steps = 1};
    model.fit(three_classes(30), {.batch_size = 10,
                                  .callbacks = {std::make_shared<JsonLines>(folder / "a", rows), halves,
                                                std::make_shared<JsonLines>(folder / "b", rows)}});
    for (const auto* name : {"a", "b"}) {
        const auto lines = lines_of(folder / name);
        ASSERT_THAT(events_of(lines), ElementsAre("begin", "step", "step", "epoch", "end"));
        for (std::size_t step = 1; step <= 3; ++step)
            EXPECT_EQ(lines[step].at("learning_rate"), std::ldexp(1, -static_cast<int>(step))) << name;
    }
    model.prepare(Sgd{}, CrossEntropyLoss{}, {}, {.schedule = LearningRateSchedule{ConstantRate{}}});
    model.fit(three_classes(30), {.callbacks = {std::make_shared<JsonLines>(folder / "scheduled")}});
    EXPECT_FALSE(lines_of(folder / "scheduled")[1].contains("learning_rate"));
}

TEST(RunRecord, RefusesRowsAfterNoSteps) {
    EXPECT_THAT(tests::message_of([] { JsonLines("m", {.every_steps = 0}); }),
                HasSubstr("every_steps is 0; it must be 1 or more"));
}

TEST(RunRecord, PageAndTensorBoardAreWritten) {
    const tests::TemporaryFolder folder;
    auto model = prepared_model();
    model.fit(three_classes(30),
              {.epochs = 1,
               .batch_size = 10,
               .callbacks = {std::make_shared<ReportPage>(folder / "p.html", "three <classes>"),
                             std::make_shared<TensorBoard>(folder / "tb")}});
    const auto page = tests::bytes_of(folder / "p.html");
    EXPECT_THAT(page, HasSubstr("<h1>three &lt;classes&gt;</h1>"));
    EXPECT_THAT(page, HasSubstr("<h3>Accuracy</h3>"));
    EXPECT_THAT(page, HasSubstr("<h3>Learning rate</h3>"));
    EXPECT_THAT(page, HasSubstr("training, within an epoch"));
    const auto file = *std::filesystem::directory_iterator(folder / "tb");
    EXPECT_THAT(tests::bytes_of(file.path()), HasSubstr("train/loss"));
    EXPECT_THAT(tests::bytes_of(file.path()), HasSubstr("learning_rate"));
}

TEST(RunRecord, TellsWhatFitThrows) {
    const tests::TemporaryFolder folder;
    auto model = prepared_model();
    EXPECT_THROW(model.fit(three_classes(30), {.callbacks = {std::make_shared<ReportPage>(folder / "p.html"),
                                                             std::make_shared<JsonLines>(folder / "m"),
                                                             std::make_shared<Failing>()}}),
                 std::out_of_range);
    EXPECT_THAT(tests::bytes_of(folder / "p.html"), HasSubstr("<h2>enough &lt;b&gt;</h2>"));
    EXPECT_EQ(lines_of(folder / "m").back().at("failure"), "enough <b>");
}

TEST(RunRecord, WhatCannotBeWrittenIsRefusedBeforeAnyStep) {
    const tests::TemporaryFolder folder;
    auto model = prepared_model();
    EXPECT_THAT(tests::message_of([&] {
                    model.fit(three_classes(30),
                              {.callbacks = {std::make_shared<JsonLines>(folder / "no" / "m")}});
                }),
                HasSubstr("No such file"));
    EXPECT_EQ(model.steps_done(), 0);
}

TEST(Callbacks, AreCalledAfterEachStep) {
    class Steps final : public Callback {
      public:
        void on_step_end(Model& model, const StepRecord& record) noexcept override {
            seen.push_back(record);
            steps.push_back(model.steps_done());
        }
        bool on_epoch_end(Model&, const EpochRecord& record) override {
            last_loss = record.train.loss;
            return true;
        }
        void on_end(Model&, const std::exception* failure) noexcept override {
            ends += failure == nullptr ? 1 : 100;
        }
        std::vector<StepRecord> seen;
        std::vector<std::int64_t> steps;
        double last_loss = 0;
        int ends = 0;
    };
    const auto callback = std::make_shared<Steps>();
    auto model = prepared_model();
    model.fit(three_classes(30), {.epochs = 2, .batch_size = 10, .callbacks = {callback}});
    EXPECT_THAT(callback->steps, ElementsAre(1, 2, 3, 4, 5, 6));
    const auto& last = callback->seen.back();
    EXPECT_EQ(last.epoch, 2);
    EXPECT_EQ(last.epochs, 2);
    EXPECT_EQ(last.step, 3);
    EXPECT_EQ(last.steps, 3);
    EXPECT_EQ(last.batch, 10);
    EXPECT_NEAR(last.loss, callback->last_loss, 1e-12);
    EXPECT_EQ(callback->ends, 1);
}

TEST(ProgressBar, SaysNothingWhereNoTerminalIsAndNoMinutePasses) {
    testing::internal::CaptureStdout();
    auto model = prepared_model();
    model.fit(three_classes(30), {.epochs = 2, .callbacks = {std::make_shared<ProgressBar>()}});
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(ProgressBar, ShowsALineOnATerminalAndTakesItAway) {
    int terminal = -1;
    const winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
    auto all_read = Pipe::open();
    const auto child = ::forkpty(&terminal, nullptr, nullptr, &size);
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::setenv("TERM", "xterm", 1);
        auto model = prepared_model();
        ProgressBar bar;
        bar.on_begin(model, {});
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
        bar.on_step_end(model, {.epoch = 1, .epochs = 2, .step = 43, .steps = 157, .batch = 10, .loss = 0.5});
        bar.on_epoch_end(model, {});
        // The end of a session takes away what nobody has read of its terminal.
        all_read.write_end.reset();
        char byte = 0;
        ::_exit(::read(all_read.read_end.get(), &byte, 1) == 0 ? 0 : 1);
    }
    std::string text;
    std::array<char, 4096> piece{};
    pollfd readable{terminal, POLLIN, 0};
    while (!text.ends_with("  \r") && ::poll(&readable, 1, 10'000) == 1) {
        const auto got = ::read(terminal, piece.data(), piece.size());
        if (got <= 0) break;
        text.append(piece.data(), static_cast<std::size_t>(got));
    }
    all_read.write_end.reset();
    int status = -1;
    ::waitpid(child, &status, 0);
    ::close(terminal);
    EXPECT_EQ(status, 0);
    EXPECT_THAT(text, HasSubstr("epoch 1/2 [==>       ] 43/157  "));
    // No wider than the terminal, and blanks in the end.
    EXPECT_THAT(text, testing::Not(HasSubstr(" left")));
    EXPECT_TRUE(text.ends_with("  \r")) << text;
}

}  // namespace
}  // namespace dtrain
