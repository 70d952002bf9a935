// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: convolution and pooling as loops over every position, in double precision, over images that are
// padded for real; central differences; and, for the gradients of large float convolutions, which central
// differences would take too long for, the operators in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>

#include "program/schemas/check_gradients.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using tests::message_of;

/// Numbers with four extents.
struct Array {
    std::size_t extents[4];
    std::vector<double> values;

    Array(const Shape& shape, std::vector<double> numbers) : values(std::move(numbers)) {
        for (std::size_t i = 0; i < 4; ++i) extents[i] = static_cast<std::size_t>(shape[i]);
    }
    double& at(std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
        return values[((a * extents[1] + b) * extents[2] + c) * extents[3] + d];
    }
};

Array padded(Array in, const Shape& padding, double value) {
    const auto top = static_cast<std::size_t>(padding[0]);
    const auto left = static_cast<std::size_t>(padding[1]);
    const Shape shape{static_cast<std::int64_t>(in.extents[0]), static_cast<std::int64_t>(in.extents[1]),
                      static_cast<std::int64_t>(in.extents[2] + 2 * top),
                      static_cast<std::int64_t>(in.extents[3] + 2 * left)};
    Array out(shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), value));
    for (std::size_t n = 0; n < in.extents[0]; ++n)
        for (std::size_t c = 0; c < in.extents[1]; ++c)
            for (std::size_t y = 0; y < in.extents[2]; ++y)
                for (std::size_t x = 0; x < in.extents[3]; ++x)
                    out.at(n, c, y + top, x + left) = in.at(n, c, y, x);
    return out;
}

struct Case {
    Shape x;
    std::int64_t channels;
    Shape window;
    Shape stride;
    Shape padding;
    Shape out;
};

const std::vector<Case> cases{
    {{1, 1, 3, 3}, 1, {3, 3}, {1, 1}, {0, 0}, {1, 1, 1, 1}},
    {{2, 3, 5, 6}, 4, {3, 2}, {1, 1}, {0, 0}, {2, 4, 3, 5}},
    {{2, 3, 5, 6}, 4, {3, 3}, {2, 2}, {1, 1}, {2, 4, 3, 3}},
    {{1, 2, 7, 5}, 3, {1, 4}, {3, 1}, {0, 2}, {1, 3, 3, 6}},
    {{2, 16, 9, 9}, 32, {3, 3}, {1, 1}, {1, 1}, {2, 32, 9, 9}},
    {{2, 8, 8, 8}, 16, {3, 3}, {4, 4}, {0, 0}, {2, 16, 2, 2}},
};

Size2d size2d(const Shape& shape) {
    return {shape[0], shape[1]};
}

class Images : public testing::TestWithParam<std::size_t> {
  protected:
    const Case& c() const { return cases[GetParam()]; }
};

TEST_P(Images, ConvolutionFollowsItsFormula) {
    for (const auto type : {DataType::float32, DataType::float64}) {
        Program program;
        const auto x = layers::data(program, "x", c().x, type);
        const auto out = layers::conv2d(program, x, c().channels, size2d(c().window), size2d(c().stride),
                                        size2d(c().padding), "conv");
        ASSERT_EQ(program.variable(out).shape, c().out);
        Interpreter interpreter(program);
        feed_numbers(program, interpreter);
        interpreter.run();
        interpreter.run();  // a second run must not add to the first
        auto in = padded({c().x, interpreter.numbers(x)}, c().padding, 0);
        const auto& filter_shape = program.variable("conv.filter").shape;
        EXPECT_EQ(filter_shape, (Shape{c().channels, c().x[1], c().window[0], c().window[1]}));
        Array filter(filter_shape, interpreter.numbers("conv.filter"));
        const auto bias = interpreter.numbers("conv.bias");
        Array given(c().out, interpreter.numbers(out));
        const auto sy = static_cast<std::size_t>(c().stride[0]);
        const auto sx = static_cast<std::size_t>(c().stride[1]);
        for (std::size_t n = 0; n < given.extents[0]; ++n)
            for (std::size_t o = 0; o < given.extents[1]; ++o)
                for (std::size_t i = 0; i < given.extents[2]; ++i)
                    for (std::size_t j = 0; j < given.extents[3]; ++j) {
                        double sum = bias[o];
                        for (std::size_t k = 0; k < filter.extents[1]; ++k)
                            for (std::size_t fy = 0; fy < filter.extents[2]; ++fy)
                                for (std::size_t fx = 0; fx < filter.extents[3]; ++fx)
                                    sum += in.at(n, k, i * sy + fy, j * sx + fx) * filter.at(o, k, fy, fx);
                        ASSERT_NEAR(given.at(n, o, i, j), sum, type == DataType::float64 ? 1e-12 : 2e-5);
                    }
    }
}

TEST_P(Images, PoolingFollowsItsFormula) {
    for (const auto type : {DataType::float32, DataType::float64}) {
        Program program;
        const auto x = layers::data(program, "x", c().x, type);
        const auto kernel_size = size2d(c().window);
        const auto stride = size2d(c().stride);
        const auto largest = layers::max_pool2d(program, x, kernel_size, stride, size2d(c().padding));
        const auto average = layers::avg_pool2d(program, x, kernel_size, stride, size2d(c().padding));
        Interpreter interpreter(program);
        feed_numbers(program, interpreter);
        interpreter.run();
        constexpr double outside = -std::numeric_limits<double>::infinity();
        auto in = padded({c().x, interpreter.numbers(x)}, c().padding, outside);
        const auto shape = program.variable(largest).shape;
        EXPECT_EQ(shape, (Shape{c().out[0], c().x[1], c().out[2], c().out[3]}));
        Array max(shape, interpreter.numbers(largest));
        Array mean(shape, interpreter.numbers(average));
        for (std::size_t n = 0; n < max.extents[0]; ++n)
            for (std::size_t k = 0; k < max.extents[1]; ++k)
                for (std::size_t i = 0; i < max.extents[2]; ++i)
                    for (std::size_t j = 0; j < max.extents[3]; ++j) {
                        double best = outside;
                        double sum = 0;
                        double count = 0;
                        for (std::size_t wy = 0; wy < static_cast<std::size_t>(c().window[0]); ++wy)
                            for (std::size_t wx = 0; wx < static_cast<std::size_t>(c().window[1]); ++wx) {
                                const auto value =
                                    in.at(n, k, i * static_cast<std::size_t>(c().stride[0]) + wy,
                                          j * static_cast<std::size_t>(c().stride[1]) + wx);
                                if (value == outside) continue;
                                best = std::max(best, value);
                                sum += value;
                                ++count;
                            }
                        ASSERT_EQ(max.at(n, k, i, j), best);
                        ASSERT_NEAR(mean.at(n, k, i, j), sum / count, 1e-6);
                    }
    }
}

TEST_P(Images, FloatGradientsAreThoseOfDouble) {
    std::vector<std::vector<double>> gradients[2];
    for (const auto type : {DataType::float32, DataType::float64}) {
        Program program;
        const auto x = add_parameter(program, "p", c().x, type);
        const auto out = layers::conv2d(program, x, c().channels, size2d(c().window), size2d(c().stride),
                                        size2d(c().padding));
        const auto made = append_backward(program, weigh(program, out));
        Interpreter interpreter(program);
        feed_numbers(program, interpreter);
        interpreter.run();
        interpreter.run();
        ASSERT_EQ(made.size(), 3U);
        for (const auto& [parameter, gradient] : made)
            gradients[type == DataType::float64].push_back(interpreter.numbers(gradient));
    }
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < gradients[0][i].size(); ++j)
            ASSERT_NEAR(gradients[0][i][j], gradients[1][i][j], 3e-5) << i;
}

INSTANTIATE_TEST_SUITE_P(Cases, Images, testing::Range<std::size_t>(0, cases.size()));

TEST(ImageGradients, Convolution) {
    for (const auto& [stride, padding] : std::vector<std::pair<Size2d, Size2d>>{{1, 0}, {{2, 1}, {1, 2}}}) {
        check_gradients([&, &s = stride, &p = padding](Program& program, DataType type) {
            const auto x = layers::tanh(program, add_parameter(program, "p", {2, 2, 4, 5}, type));
            return weigh(program, layers::conv2d(program, x, 3, {2, 3}, s, p));
        });
    }
    check_gradients([](Program& program, DataType type) {
        return weigh(program, layers::conv2d(program, layers::data(program, "x", {2, 2, 4, 5}, type), 3, 3));
    });
}

TEST(ImageGradients, Pooling) {
    using Pool = Var(Program&, const Var&, Size2d, Size2d, Size2d);
    struct Window {
        Size2d kernel_size = 2;
        Size2d stride = 2;
        Size2d padding = 0;
    };
    for (Pool* const pool :
         {static_cast<Pool*>(layers::max_pool2d), static_cast<Pool*>(layers::avg_pool2d)}) {
        for (const Window& window : {Window{}, Window{{3, 2}, {1, 2}, 1}}) {
            check_gradients([&](Program& program, DataType type) {
                const auto x = layers::tanh(program, add_parameter(program, "p", {2, 3, 5, 4}, type));
                return weigh(program, pool(program, x, window.kernel_size, window.stride, window.padding));
            });
        }
    }
}

TEST(ImageGradients, OfASmallNetwork) {
    check_gradients([](Program& program, DataType type) {
        const auto x = layers::data(program, "x", {2, 1, 8, 8}, type);
        const auto label = layers::data(program, "label", {2}, DataType::int64);
        auto hidden = layers::tanh(program, layers::conv2d(program, x, 3, 3, 1, 1));
        hidden = layers::avg_pool2d(program, hidden, 2);
        const auto logits = layers::fc(program, layers::flatten(program, hidden), 3);
        return layers::softmax_with_cross_entropy(program, logits, label).loss;
    });
}

TEST(ImageErrors, NameShapes) {
    Program program;
    const auto x = layers::data(program, "x", {2, 3, 4, 5});
    const auto flat = layers::data(program, "flat", {2, 3});
    EXPECT_EQ(message_of<ProgramError>([&] { layers::conv2d(program, flat, 4, 3); }),
              "layer conv2d: x 'flat' is float32 [2, 3], expected float32 [batch, channels, height, width]");
    EXPECT_EQ(
        message_of<ProgramError>([&] {
            layers::conv2d(program, x, 4, 3, {0, 1});
        }),
        "operator conv2d: attribute stride is [0, 1], expected two numbers of at least 1: of height and "
        "width");
    EXPECT_THAT(message_of<ProgramError>([&] { layers::conv2d(program, x, 4, std::int64_t{1} << 40); }),
                testing::HasSubstr("expected at most 2^48 elements"));
    EXPECT_EQ(program.variables().size(), 2U) << "nothing of a layer that does not fit stays";
    EXPECT_EQ(message_of<ProgramError>([&] { layers::conv2d(program, x, 4, 5); }),
              "operator conv2d: x 'x' is float32 [2, 3, 4, 5], expected images of at least [5, 5] with the "
              "padding [0, 0]");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  layers::max_pool2d(program, x, 2, 2, {2, 0});
              }),
              "operator max_pool2d: attribute padding is [2, 0], expected less than the window's [2, 2]");
}

}  // namespace
}  // namespace dtrain
