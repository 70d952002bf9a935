// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Names and arguments of earlier releases, which stay for one more.
// Oracle: the program of the present spelling, as text.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/model.hpp>

#include "support/message_of.hpp"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace dtrain {
namespace {

using tests::message_of;

std::string text(const std::function<void(Program&)>& append) {
    Program program;
    layers::data(program, "x", {2, 3, 6, 8});
    layers::data(program, "ids", {2}, DataType::int64);
    append(program);
    return program.to_string();
}

TEST(DeprecatedLayers, Conv2dTakesAStruct) {
    EXPECT_EQ(text([](Program& p) { layers::conv2d(p, "x", 4); }),
              text([](Program& p) { layers::conv2d(p, "x", 4, 3); }));
    EXPECT_EQ(
        text([](Program& p) {
            layers::conv2d(p, "x", 4, {.window = {2, 5}, .stride = {2, 1}, .padding = {1, 0}, .name = "c"});
        }),
        text([](Program& p) {
            layers::conv2d(p, "x", 4, {2, 5}, {2, 1}, {1, 0}, "c");
        }));
}

TEST(DeprecatedLayers, PoolsTakeAStruct) {
    const layers::Pool2dOptions options{.window = {3, 2}, .stride = {1, 2}, .padding = {1, 1}};
    EXPECT_EQ(text([&](Program& p) { layers::max_pool2d(p, "x", options); }), text([](Program& p) {
                  layers::max_pool2d(p, "x", {3, 2}, {1, 2}, 1);
              }));
    EXPECT_EQ(text([&](Program& p) { layers::average_pool2d(p, "x", options); }), text([](Program& p) {
                  layers::avg_pool2d(p, "x", {3, 2}, {1, 2}, 1);
              }));
    EXPECT_EQ(text([](Program& p) { layers::average_pool2d(p, "x"); }),
              text([](Program& p) { layers::avg_pool2d(p, "x", 2); }));
}

TEST(DeprecatedLayers, AWindowHasTwoNumbers) {
    Program program;
    layers::data(program, "x", {2, 3, 6, 8});
    EXPECT_EQ(message_of<ProgramError>([&] { layers::max_pool2d(program, "x", {.window = {2}}); }),
              "operator max_pool2d: attribute window is [2], expected two numbers of at least 1: of height "
              "and width");
    EXPECT_EQ(message_of<ProgramError>([&] { layers::conv2d(program, "x", 4, {.window = {2}}); }),
              "layer conv2d: window [2], expected height and width");
}

TEST(DeprecatedLayers, AnEmbeddingHasAPaddingId) {
    EXPECT_EQ(text([](Program& p) { layers::embedding(p, "ids", 4, 3, {.padding = 2}); }),
              text([](Program& p) { layers::embedding(p, "ids", 4, 3, {.padding_idx = 2}); }));
    EXPECT_EQ(text([](Program& p) { layers::embedding(p, "ids", 4, 3, {.padding = -1}); }),
              text([](Program& p) { layers::embedding(p, "ids", 4, 3); }));
}

TEST(DeprecatedLayers, MeanSquareErrorIsMseLoss) {
    EXPECT_EQ(text([](Program& p) { layers::mean_square_error(p, "x", "x"); }),
              text([](Program& p) { layers::mse_loss(p, "x", "x"); }));
    static_assert(std::is_same_v<MeanSquareErrorLoss, MSELoss>);
    static_assert(std::is_same_v<BceWithLogitsLoss, BCEWithLogitsLoss>);
}

}  // namespace
}  // namespace dtrain
