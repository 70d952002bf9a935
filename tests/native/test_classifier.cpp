// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: the sizes of a multi-layer perceptron, worked out by hand.
#include <algorithm>

#include <gtest/gtest.h>

#include "native/classifier.hpp"

namespace dtrain::native {
namespace {

TEST(Classifier, CountsAndDescribes) {
    const auto model =
        build_classifier({.hidden = {128, 64}, .activation = "tanh"}, {8, 64, 10}, Adam{}, {1});
    EXPECT_EQ(model.description, "64-128-64-10 tanh");
    EXPECT_EQ(model.parameters, 64 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10);
    EXPECT_EQ(model.train.variable(fed_x).shape, (Shape{8, 64}));
    EXPECT_EQ(model.train.variable(fed_label).type, DataType::int64);
    EXPECT_EQ(model.test.variable(fed_weight).shape, (Shape{8}));
}

TEST(Classifier, LinearWithoutHiddenLayers) {
    const auto model = build_classifier({.hidden = {}}, {4, 3, 2}, Sgd{}, {1});
    EXPECT_EQ(model.description, "3-2");
    EXPECT_EQ(model.parameters, 3 * 2 + 2);
}

TEST(Classifier, OnlyTrainingChangesParameters) {
    const auto model = build_classifier({.hidden = {5}}, {4, 3, 2}, Momentum{}, {2});
    const auto count = [](const Program& program, const std::string& type) {
        return std::ranges::count_if(program.operators(),
                                     [&](const Operator& op) { return op.type.starts_with(type); });
    };
    EXPECT_GE(count(model.train, "allreduce_start"), 1);
    EXPECT_EQ(count(model.train, "allreduce_start"), count(model.train, "allreduce_wait"));
    EXPECT_EQ(count(model.test, "allreduce"), 0);
    EXPECT_EQ(count(model.test, "momentum"), 0);
    EXPECT_LT(model.test.operators().size(), model.train.operators().size() / 2);
}

}  // namespace
}  // namespace dtrain::native
