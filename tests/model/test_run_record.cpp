// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: what fit() returns; steps counted by hand. tests/report has the files' formats.
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
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

#include "small_models.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<json> lines_of(const std::filesystem::path& file) {
    std::vector<json> lines;
    std::istringstream text(tests::bytes_of(file));
    for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
    return lines;
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
    ASSERT_THAT(lines, SizeIs(4));
    EXPECT_EQ(lines[0].at("event"), "begin");
    for (std::size_t epoch : {0U, 1U}) {
        const auto& line = lines[epoch + 1];
        EXPECT_EQ(line.at("epoch"), epoch + 1);
        EXPECT_EQ(line.at("step"), 3 * (epoch + 1));
        EXPECT_EQ(line.at("train_loss"), history[epoch].train.loss);
        EXPECT_EQ(line.at("train_accuracy"), history[epoch].train.metrics.at("accuracy"));
        EXPECT_EQ(line.at("eval_loss"), history[epoch].eval->loss);
        EXPECT_EQ(line.at("samples_per_second"), 30 / history[epoch].train_seconds);
        EXPECT_LT(history[epoch].train_seconds, history[epoch].seconds);
    }
    EXPECT_EQ(lines[3].at("outcome"), "done");
}

TEST(RunRecord, PageAndTensorBoardAreWritten) {
    const tests::TemporaryFolder folder;
    auto model = prepared_model();
    model.fit(three_classes(30),
              {.epochs = 1,
               .callbacks = {std::make_shared<ReportPage>(folder / "p.html", "three <classes>"),
                             std::make_shared<TensorBoard>(folder / "tb")}});
    const auto page = tests::bytes_of(folder / "p.html");
    EXPECT_THAT(page, HasSubstr("<h1>three &lt;classes&gt;</h1>"));
    EXPECT_THAT(page, HasSubstr("<h3>Accuracy</h3>"));
    const auto file = *std::filesystem::directory_iterator(folder / "tb");
    EXPECT_THAT(tests::bytes_of(file.path()), HasSubstr("train/loss"));
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
        ::_exit(0);
    }
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t got = 0; (got = ::read(terminal, piece.data(), piece.size())) > 0;)
        text.append(piece.data(), static_cast<std::size_t>(got));
    int status = -1;
    ::waitpid(child, &status, 0);
    ::close(terminal);
    EXPECT_EQ(status, 0);
    EXPECT_THAT(text, HasSubstr("epoch 1/2 [==>       ] 43/157  "));
    // No wider than the terminal, and blanks in the end.
    EXPECT_THAT(text, testing::Not(HasSubstr(" left")));
    EXPECT_TRUE(text.ends_with(" \r")) << text;
}

}  // namespace
}  // namespace dtrain
