// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: tensors small enough to write down, central differences, and the rules of the interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>

#include "program/schemas/check_gradients.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::ElementsAre;
using tests::message_of;

TEST(Shapes, ReshapeKeepsTheOrder) {
    Program program;
    const auto x = layers::data(program, "x", {2, 3}, DataType::int32);
    const auto y = layers::reshape(program, x, {3, -1});
    EXPECT_EQ(program.variable(y).shape, (Shape{3, 2}));
    EXPECT_EQ(program.variable(y).type, DataType::int32);
    const auto z = layers::flatten(program, layers::data(program, "image", {2, 3, 4, 5}));
    EXPECT_EQ(program.variable(z).shape, (Shape{2, 60}));
    Interpreter interpreter(program);
    interpreter.set(x, {1, 2, 3, 4, 5, 6});
    interpreter.run();
    EXPECT_THAT(interpreter.numbers(y), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Shapes, ConcatAndSplitAreEachOthersInverse) {
    Program program;
    const auto a = layers::data(program, "a", {2, 1, 2});
    const auto b = layers::data(program, "b", {2, 2, 2});
    const auto both = layers::concat(program, {a, b}, 1);
    EXPECT_EQ(program.variable(both).shape, (Shape{2, 3, 2}));
    const auto parts = layers::split(program, both, {1, 2}, -2);
    Interpreter interpreter(program);
    interpreter.set(a, {1, 2, 3, 4});
    interpreter.set(b, {10, 11, 12, 13, 14, 15, 16, 17});
    interpreter.run();
    EXPECT_THAT(interpreter.numbers(both), ElementsAre(1, 2, 10, 11, 12, 13, 3, 4, 14, 15, 16, 17));
    EXPECT_EQ(interpreter.numbers(parts[0]), interpreter.numbers(a));
    EXPECT_EQ(interpreter.numbers(parts[1]), interpreter.numbers(b));
}

TEST(Shapes, Gradients) {
    check_gradients([](Program& program, DataType type) {
        return weigh(program, layers::reshape(program, add_parameter(program, "p", {2, 3}, type), {6}));
    });
    for (const std::int64_t axis : {0, 1, -1}) {
        check_gradients([&](Program& program, DataType type) {
            const auto p = add_parameter(program, "p", {2, 2, 2}, type);
            const auto q = add_parameter(program, "q", {2, 2, 2}, type);
            const auto fixed = layers::data(program, "fixed", {2, 2, 2}, type);
            const auto other = layers::data(program, "other", {2, 2, 2}, type);
            return weigh(program, layers::concat(program, {fixed, p, other, q, p}, axis));
        });
        check_gradients([&](Program& program, DataType type) {
            const auto p = add_parameter(program, "p", {4, 4, 4}, type);
            const auto parts = layers::split(program, layers::tanh(program, p), {1, 2, 1}, axis);
            return weigh(program, layers::square(program, parts[1]));  // the others count nothing
        });
    }
}

TEST(ShapeErrors, NameShapes) {
    Program program;
    const auto x = layers::data(program, "x", {2, 3});
    const auto y = layers::data(program, "y", {2, 4});
    EXPECT_EQ(message_of<ProgramError>([&] {
                  layers::reshape(program, x, {4, 2});
              }),
              "operator reshape: x 'x' is float32 [2, 3], expected 8 elements for the shape [4, 2]");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  layers::reshape(program, x, {-1, -1});
              }),
              "operator reshape: attribute shape is [-1, -1], expected extents of at least 1");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  layers::concat(program, {x, y}, 0);
              }),
              "operator concat: x 'y' is float32 [2, 4], expected float32 [any, 3]");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  layers::concat(program, {x, y}, 2);
              }),
              "operator concat: attribute axis is 2, expected one of the 2 axes of x, 0 the first");
    EXPECT_EQ(message_of<ProgramError>([&] { layers::concat(program, {}, 0); }),
              "operator concat: input x is given 0 times, expected at least once");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  layers::split(program, y, {1, 2}, 1);
              }),
              "operator split: attribute sizes is [1, 2], expected sizes of at least 1 that add up to 4, the "
              "extent of x");
}

}  // namespace
}  // namespace dtrain
