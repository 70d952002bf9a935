// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Names of earlier releases, which stay for one more. Oracle: what the present names do.
#include <type_traits>

#include <gtest/gtest.h>

#include <dtrain/nn.hpp>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace dtrain::nn {
namespace {

static_assert(std::is_same_v<Size2D, Size2d>);
static_assert(std::is_same_v<Conv2DOptions, Conv2dOptions>);
static_assert(std::is_same_v<Conv2D, Conv2d>);
static_assert(std::is_same_v<MaxPool2D, MaxPool2d>);
static_assert(std::is_same_v<AvgPool2D, AvgPool2d>);

TEST(DeprecatedNames, ClearGradAndClearGradientRemoveGradients) {
    const Parameter p("p", {1});
    Optimizer sgd(Sgd{}, {p});
    sum(p).backward();
    ASSERT_TRUE(p.has_gradient());
    sgd.clear_grad();
    EXPECT_FALSE(p.has_gradient());
    sum(p).backward();
    ASSERT_TRUE(p.has_gradient());
    p.clear_gradient();
    EXPECT_FALSE(p.has_gradient());
}

}  // namespace
}  // namespace dtrain::nn
