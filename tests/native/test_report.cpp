// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: lines written by hand; columns must stand under their heads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "native/report.hpp"

namespace dtrain::native {
namespace {

TEST(Report, ColumnsStandUnderTheirHeads) {
    constexpr auto kind = ModelKind::classifier;
    EpochReport report{3, {0.12345, 0.9876, {}, 1408}, Metrics{0.2, 0.96, {}, 389}, 1408, 0.01, 1.5};
    EXPECT_EQ(table_head(kind), " epoch  train loss  train acc  test acc    samples/s  time [s]\n");
    EXPECT_EQ(table_row(kind, report), "     3      0.1235     0.9876    0.9600       140800      1.50\n");
    report.test.reset();
    EXPECT_EQ(table_row(kind, report), "     3      0.1235     0.9876         -       140800      1.50\n");
    EXPECT_EQ(table_row(kind, report).size(), table_head(kind).size());
}

TEST(Report, ClickThroughModelsHaveLossAndAucOfTheirTests) {
    constexpr auto kind = ModelKind::click_through;
    EpochReport report{3, {0.12345, {}, {}, 1408}, Metrics{0.2, {}, 0.76543, 389}, 1408, 0.01, 1.5};
    EXPECT_EQ(table_head(kind), " epoch  train loss  test loss  test AUC    samples/s  time [s]\n");
    EXPECT_EQ(table_row(kind, report), "     3      0.1235     0.2000    0.7654       140800      1.50\n");
    report.test.reset();
    EXPECT_EQ(table_row(kind, report), "     3      0.1235          -         -       140800      1.50\n");
}

TEST(Report, TheResultIsTheMetricOfTheModel) {
    EXPECT_EQ(result_line({0.2, 0.96, {}, 389}, {}), "test accuracy 0.9600\n");
    EXPECT_EQ(result_line({0.2, {}, 0.76543, 389}, {}), "test AUC 0.7654\n");
    EXPECT_EQ(result_line({0.2, {}, 0.76543, 389}, 0.8), "test AUC 0.7654 (best possible 0.8000)\n");
}

TEST(Report, ServersTellWhatTheyCounted) {
    EXPECT_EQ(server_line({}), "");
    EXPECT_EQ(server_line({.rows = 63211,
                           .inserted = 70000,
                           .evicted = 6789,
                           .dropped = 12,
                           .rejected = 3,
                           .dense_rejected = 1}),
              "servers       63,211 rows, inserted 70,000, evicted 6,789; gradients dropped 12, rejected 3 "
              "of rows and "
              "1 of dense parameters\n");
    EXPECT_EQ(left_out_line({.samples = 100}), "");
    EXPECT_EQ(left_out_line({.samples = 10000, .left_out = 1280}),
              "        1,280 of 10,000 samples are left out: the loss of their batches is no number\n");
}

TEST(Report, NextStepsAreCommands) {
    const auto text = next_steps("bin/dtrain-worker", "share/digits.toml", 40);
    EXPECT_THAT(text, testing::HasSubstr("mpirun -np 2 bin/dtrain-worker --resume --epochs 40"));
    EXPECT_THAT(text,
                testing::HasSubstr("cp share/digits.* . && mpirun -np 2 bin/dtrain-worker digits.toml"));
}

TEST(Report, ProfileHasTheDearestOperatorFirst) {
    const std::vector<OperatorTime> times{{"fc", "hidden", 10, std::chrono::microseconds(250)},
                                          {"never", "x", 0, {}},
                                          {"adam", "w", 10, std::chrono::microseconds(750)}};
    EXPECT_EQ(profile_text(times, 3 << 19, "2 ranks on 1 node"),
              "profile of rank 0: training took 0.00 s in operators; a step's memory is 1.5 MiB; 2 ranks on "
              "1 node\n"
              "operator  makes   calls  us a call  share\n"
              "adam      w       10     75.0       75.0%\n"
              "fc        hidden  10     25.0       25.0%\n");
}

}  // namespace
}  // namespace dtrain::native
