// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the definition of the AUC, a comparison of every positive row with every negative one, where rows
// of one bin count half.
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/metrics.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "program/ir/interpreter.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

struct Row {
    double score;
    bool is_positive;
    double weight;
};

double score_at(int i) {
    return 0.5 + 0.5 * std::sin(37.7 * i + 0.3 * (i % 5));
}

double exact_auc(const std::vector<Row>& rows, std::int64_t bins) {
    const auto bin = [&](const Row& row) {
        return std::min(bins - 1, static_cast<std::int64_t>(row.score * static_cast<double>(bins)));
    };
    double right = 0;
    double pairs = 0;
    for (const auto& positive : rows) {
        for (const auto& negative : rows) {
            if (!positive.is_positive || negative.is_positive) continue;
            const double weight = positive.weight * negative.weight;
            pairs += weight;
            right += weight * (bin(positive) > bin(negative) ? 1 : bin(positive) == bin(negative) ? 0.5 : 0);
        }
    }
    return right / pairs;
}

TEST(Auc, IsTheChanceThatAPositiveIsAboveANegative) {
    for (const std::int64_t bins : {1, 10, 4096}) {
        for (const auto label_type : {DataType::int64, DataType::int32, DataType::float32}) {
            for (const auto type : {DataType::float32, DataType::float64}) {
                Program program;
                const auto scores = layers::data(program, "scores", {4, 1}, type);
                const auto label = layers::data(program, "label", {4, 1}, label_type);
                const auto weight = layers::data(program, "weight", {4}, type);
                const auto names = layers::auc(program, scores, label, {.weight = weight, .bins = bins});
                Interpreter interpreter(program);
                std::vector<Row> rows;
                for (int batch = 0; batch < 25; ++batch) {
                    for (int i = 0; i < 4; ++i) {
                        const auto n = 4 * batch + i;
                        const Row row{static_cast<double>(static_cast<float>(score_at(n))),
                                      std::sin(5.0 * n) + score_at(n) > 0.6, n % 7 == 3 ? 0.0 : 1.0};
                        rows.push_back(row);
                        const auto at = static_cast<std::size_t>(i);
                        interpreter.set(scores, at, row.score);
                        interpreter.set(label, at, row.is_positive ? 1 : 0);
                        interpreter.set(weight, at, row.weight);
                    }
                    interpreter.run();
                }
                const auto exact = exact_auc(rows, bins);
                EXPECT_NEAR(interpreter.numbers(names.value)[0], exact, 1e-6);
                EXPECT_NEAR(area_under_curve(interpreter.values<double>(names.positives),
                                             interpreter.values<double>(names.negatives)),
                            exact, 1e-12);
                EXPECT_EQ(exact == 0.5, bins == 1);
            }
        }
    }
}

TEST(Auc, KnowsNothingWithoutBothClasses) {
    Program program;
    const auto scores = layers::data(program, "scores", {3});
    const auto label = layers::data(program, "label", {3}, DataType::int64);
    const auto names = layers::auc(program, scores, label);
    Interpreter interpreter(program);
    interpreter.set(scores, {0, 1, 0.5});
    interpreter.run();
    EXPECT_EQ(interpreter.numbers(names.value)[0], 0.5);
    interpreter.set(label, {0, 1, 0});
    interpreter.run();
    EXPECT_GT(interpreter.numbers(names.value)[0], 0.5);
    reset_metrics(interpreter.state());
    interpreter.run();
    EXPECT_EQ(interpreter.numbers(names.value)[0], 1) << "the first batch is forgotten";
    for (const double wrong : {1.5, -0.1, std::nan("")}) {
        interpreter.set(scores, 1, wrong);
        EXPECT_THAT(message_of<Error>([&] { interpreter.run(); }),
                    HasSubstr("auc: the score in row 1 of the batch is"));
    }
}

TEST(Auc, CountsInTestsToo) {
    Program program;
    const auto x = layers::data(program, "x", {3, 2});
    const auto label = layers::data(program, "label", {3, 1});
    const auto logits = layers::fc(program, x, 1);
    const auto names = layers::auc(program, layers::sigmoid(program, logits), label);
    minimize(program, layers::mean(program, layers::bce_with_logits(program, logits, label)), Adam{});
    const State state(program, 1);
    Executor test(for_test(program, {names.value}), state);
    test.run();
    test.run();
    const auto counts = state.find(names.negatives)->view.as<double>();
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0.0), 6);
    EXPECT_EQ(state.find("adam.step")->view.as<std::int64_t>()[0], 0) << "nothing is trained";
    reset_metrics(state);
    EXPECT_THAT(counts, testing::Each(0.0));
}

TEST(AucErrors, NameShapes) {
    Program program;
    const auto scores = layers::data(program, "scores", {3, 1});
    const auto label = layers::data(program, "label", {4}, DataType::int64);
    const auto weight = layers::data(program, "weight", {3, 1});
    const auto fits = layers::data(program, "fits", {3}, DataType::int64);
    EXPECT_EQ(message_of<ProgramError>([&] { layers::auc(program, scores, label); }),
              "operator auc: label 'label' is int64 [4], expected one for each of the 3 scores");
    EXPECT_EQ(message_of<ProgramError>([&] { layers::auc(program, scores, fits, {.weight = weight}); }),
              "operator auc: weight 'weight' is float32 [3, 1], expected float32 [3]");
}

}  // namespace
}  // namespace dtrain
