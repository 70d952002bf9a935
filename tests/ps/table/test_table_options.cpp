// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the ranges that the options' comments and the optimizers' papers give.
#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/table/table_options.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using tests::message_of;

std::string refusal(const std::function<void(TableOptions&)>& change) {
    TableOptions options{.name = "clicks", .width = 8};
    change(options);
    return message_of([&] { check(options); });
}

TEST(TableOptions, AreGoodUnlessToldOtherwise) {
    EXPECT_EQ(refusal([](auto&) {}), "");
    EXPECT_EQ(refusal([](auto& o) { o.statistics = RowStatistics{}; }), "");
    EXPECT_EQ(refusal([](auto& o) { o.admission = AdmitByCount{255, 64}; }), "");
    EXPECT_EQ(refusal([](auto& o) { o.optimizer = Sgd{0}; }), "");
}

TEST(TableOptions, NameTheTableTheOptionAndItsRange) {
    EXPECT_EQ(refusal([](auto& o) { o.width = 0; }), "table 'clicks': width is 0, expected 1 to 1048576");
    EXPECT_EQ(refusal([](auto& o) { o.optimizer = Sgd{-1}; }),
              "table 'clicks': learning_rate is -1, expected at least 0");
    EXPECT_EQ(refusal([](auto& o) { o.optimizer = Adam{.beta2 = 1.5}; }),
              "table 'clicks': beta2 is 1.5, expected 0 to 0.999999999999");
    EXPECT_EQ(refusal([](auto& o) { o.admission = AdmitByCount{0}; }),
              "table 'clicks': the admission's count is 0, expected 1 to 255");
    EXPECT_EQ(refusal([](auto& o) { o.admission = AdmitByProbability{1.1}; }),
              "table 'clicks': the admission's probability is 1.1, expected 0 to 1");
    EXPECT_EQ(refusal([](auto& o) {
                  o.admission = AdmitByCount{2, 100};
              }),
              "table 'clicks': the admission's counters are 100, expected a multiple of 64");
    EXPECT_EQ(refusal([](auto& o) { o.statistics = RowStatistics{.decay = 2}; }),
              "table 'clicks': decay is 2, expected 0 to 1");
}

TEST(TableOptions, RefuseEachOptimizersImpossibleSettings) {
    for (const Optimizer& optimizer : std::initializer_list<Optimizer>{
             Momentum{.mu = 1}, Adagrad{.epsilon = -1}, Adagrad{.initial = -1}, Adam{.beta1 = -0.1},
             AdamW{.weight_decay = -1}, Ftrl{.learning_rate = 0}, Ftrl{.beta = 0}, Ftrl{.l1 = -1},
             Ftrl{.l2 = -1}, Sgd{HUGE_VAL}})
        EXPECT_NE(refusal([&](auto& o) { o.optimizer = optimizer; }), "") << optimizer.index();
    EXPECT_NE(refusal([](auto& o) { o.regularisation = L2Decay{-1}; }), "");
}

TEST(DictSizeError, SaysWhichTableBoundAndId) {
    const DictSizeError error("clicks", 10, INT64_MIN);
    EXPECT_STREQ(error.what(),
                 "table 'clicks' has rows for 10 distinct ids, which is its dict_size, and none for id "
                 "-9223372036854775808: use a larger one (dict_size of [model] in a job file, the rows of "
                 "embedding() in "
                 "C++), or admission and shrink() against ids that come once");
    EXPECT_EQ(error.table(), "clicks");
    EXPECT_EQ(error.dict_size(), 10U);
    EXPECT_EQ(error.id(), INT64_MIN);
    const DictSizeError of_all("clicks", 10, RowCount{12});
    EXPECT_THAT(of_all.what(),
                testing::StartsWith("table 'clicks' has rows for 12 distinct ids on all servers "
                                    "together, and its dict_size is 10: use a larger one"));
    EXPECT_EQ(of_all.id(), std::nullopt);
}

}  // namespace
}  // namespace dtrain::ps
