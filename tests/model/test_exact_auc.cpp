// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: every pair of a sample of label 1 and one of label 0, looked at. Several ranks are tested in
// tests/jobs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "model/exact_auc.hpp"

namespace dtrain::model {
namespace {

double by_pairs(const std::vector<ScoredSample>& samples) {
    double right = 0;
    double pairs = 0;
    for (const auto& one : samples)
        for (const auto& other : samples) {
            if (one.label == 0 || other.label == 1) continue;
            right += one.score > other.score ? 1 : one.score == other.score ? 0.5 : 0;
            ++pairs;
        }
    return right / pairs;
}

TEST(ExactAuc, KnownValues) {
    EXPECT_EQ(exact_auc({{0.1F, 0}, {0.2F, 1}}), 1);
    EXPECT_EQ(exact_auc({{0.1F, 1}, {0.2F, 0}}), 0);
    EXPECT_EQ(exact_auc({{0.0F, 1}, {-0.0F, 0}}), 0.5);
    EXPECT_EQ(exact_auc({{1, 1}, {2, 0}, {3, 1}, {3, 0}}), 0.375);
    EXPECT_EQ(exact_auc({}), 0.5);
    EXPECT_EQ(exact_auc({{1, 1}, {2, 1}}), 0.5);
    EXPECT_EQ(exact_auc({{1, 0}}), 0.5);
    EXPECT_TRUE(std::isnan(exact_auc({{1, 0}, {std::numeric_limits<float>::quiet_NaN(), 1}, {2, 0}})));
}

TEST(ExactAuc, IsTheFractionOfPairsInAnyOrder) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        std::vector<ScoredSample> samples{{0, 0}, {1, 1}};
        const auto ties = 1 + random() % 40;
        for (auto left = random() % 60; left > 0; --left)
            samples.push_back({static_cast<float>(random() % ties) - 7, static_cast<float>(random() % 2)});
        const auto expected = by_pairs(samples);
        EXPECT_DOUBLE_EQ(exact_auc(samples), expected);
        auto shuffled = samples;
        std::ranges::shuffle(shuffled, random);
        EXPECT_EQ(exact_auc(shuffled), exact_auc(samples));
        EXPECT_EQ(exact_auc(shuffled, Communicator()), exact_auc(samples));
    }
}

}  // namespace
}  // namespace dtrain::model
