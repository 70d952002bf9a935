// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the messages, which name what was given and what is expected. What is wrong in the data themselves
// is looked for where values are read: a GPU tells it then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/nn.hpp>

#include "support/message_of.hpp"

namespace dtrain::nn {
namespace {

using testing::HasSubstr;
using tests::message_of;

TEST(Refusals, NameOperatorAndShapes) {
    const auto x = Tensor::full({3, 5}, 1);
    const Parameter weight("fc_0.weight", {4, 2});
    const Parameter bias("fc_0.bias", {2});
    const auto message = message_of<ProgramError>([&] { linear(x, weight, bias); });
    EXPECT_EQ(message, "operator fc: weight 'fc_0.weight' is float32 [4, 2], expected float32 [5, any]");
    EXPECT_THAT(message_of<ProgramError>([&] {
                    x + Tensor::full({5, 3}, 1);
                }),
                testing::AllOf(HasSubstr("operator sum"), HasSubstr("[5, 3]"), HasSubstr("[3, 5]")));
    EXPECT_THAT(message_of<ProgramError>([&] { cross_entropy(x, Tensor::full({2}, 0, DataType::int64)); }),
                testing::AllOf(HasSubstr("operator softmax_with_cross_entropy"), HasSubstr("int64 [2]"),
                               HasSubstr("int64 [3]")));
    EXPECT_THAT(message_of<ProgramError>([&] { cross_entropy(x, Tensor::full({3}, 0)); }),
                HasSubstr("float32 [3], expected int64 [3]"));
    EXPECT_THAT(message_of<Error>([&] { cross_entropy(x, Tensor::full({3}, 7, DataType::int64)).item(); }),
                HasSubstr("7"));
    EXPECT_THAT(message_of<ProgramError>([&] { reshape(x, {4, -1}); }), HasSubstr("operator reshape"));
    EXPECT_EQ(message_of<ProgramError>([&] { flatten(x, 2); }),
              "flatten: start is axis 2, and the tensor is float32 [3, 5]");
    EXPECT_THROW(flatten(x, 1, 0), ProgramError);
    EXPECT_THAT(message_of<UsageError>([] {
                    Tensor::of(std::vector<float>{1, 2}, {3});
                }),
                HasSubstr("shape [3] has 3 elements, but 2 values"));
    EXPECT_THROW(Tensor::full({0, 3}, 1), ProgramError);
    EXPECT_THROW(x.values<double>(), Error);
    EXPECT_THROW(Parameter("p", {2}, {}, DataType::int64), ProgramError);
}

TEST(Refusals, OfTypesThatTensorsCannotHave) {
    const auto refused = "a tensor: the type is bfloat16, expected float32, int64, float64 or int32";
    EXPECT_EQ(message_of<DataTypeError>([] { Tensor::full({2}, 1, DataType::bfloat16); }), refused);
    EXPECT_EQ(message_of<DataTypeError>([] { cast(Tensor::full({2}, 1), DataType::bfloat16); }), refused);
    EXPECT_EQ(message_of<DataTypeError>([] { randn({2}, 0, DataType::bfloat16); }), refused);
    EXPECT_EQ(message_of<ProgramError>([] { Parameter("p", {2}, {}, DataType::float16); }),
              "variable 'p' is float16, expected float32, int64, float64 or int32");
}

TEST(Refusals, OfBackward) {
    const Parameter p("p", {2, 3});
    const auto x = square(p);
    try {
        x.backward();
        FAIL() << "six numbers have no gradient";
    } catch (const NotScalarError& error) {
        EXPECT_EQ(error.shape(), (Shape{2, 3}));
        EXPECT_STREQ(
            error.what(),
            "backward(): the tensor is float32 [2, 3], expected one element; take the mean, or a loss");
    }
    EXPECT_FALSE(p.has_gradient());
    EXPECT_THROW(Tensor::full({1}, 1).backward(), NoGradientError);
    EXPECT_THAT(message_of<NoGradientError>([&] { p.gradient(); }), HasSubstr("'p' has no gradient"));

    const auto loss = mean(x);
    loss.backward();
    EXPECT_THROW(loss.backward(), SpentGraphError);
    EXPECT_THAT(message_of<SpentGraphError>([&] { sum(x).backward(); }), HasSubstr("operator square"));
    EXPECT_FLOAT_EQ(loss.item(), 0);

    const auto labels = Tensor::full({2}, 0, DataType::int64);
    EXPECT_THROW(accuracy(p, labels).backward(), NoGradientError);
}

TEST(Refusals, OfWhatIsEmpty) {
    Tensor moved = Tensor::full({2}, 1);
    const auto taken = std::move(moved);
    EXPECT_THROW(moved.shape(), EmptyError);  // NOLINT(bugprone-use-after-move)
    EXPECT_THROW(relu(moved), EmptyError);    // NOLINT(bugprone-use-after-move)
    EXPECT_THROW(Tensor().backward(), EmptyError);
    EXPECT_THROW(Parameter().values(), EmptyError);
    EXPECT_THROW(relu(Parameter()), EmptyError);
}

TEST(ImageRefusals, OfWhatDoesNotFit) {
    const auto x = Tensor::full({2, 3, 8, 8}, 1);
    Conv2d conv(1, 4, 3, 1, 0, {.name = "conv"});
    EXPECT_EQ(message_of<ProgramError>([&] { conv(x); }),
              "operator conv2d: filter 'conv.filter' is float32 [4, 1, 3, 3], expected float32 [any, 3, any, "
              "any]");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  conv(Tensor::full({2, 64}, 1));
              }),
              "operator conv2d: x 'x' is float32 [2, 64], expected float32 [any, any, any, any]");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  conv(Tensor::full({2, 1, 2, 8}, 1));
              }),
              "operator conv2d: x 'x' is float32 [2, 1, 2, 8], expected images of at least [3, 3] with the "
              "padding [0, 0]");
    EXPECT_THAT(message_of<ProgramError>([&] {
                    conv(Tensor::full({2, 1, 8, 8}, 1, DataType::int64));
                }),
                HasSubstr("operator conv2d: x 'x' is int64"));
    EXPECT_EQ(message_of<ProgramError>([&] { MaxPool2d(9)(x); }),
              "operator max_pool2d: x 'x' is float32 [2, 3, 8, 8], expected images of at least [9, 9] with "
              "the padding [0, 0]");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  AvgPool2d({2, 9})(x);
              }),
              "operator average_pool2d: x 'x' is float32 [2, 3, 8, 8], expected images of at least [2, 9] "
              "with the padding [0, 0]");
    EXPECT_THAT(message_of<ProgramError>([&] { max_pool2d(x, 2, 0); }),
                HasSubstr("operator max_pool2d: attribute stride is [0, 0]"));
}

TEST(ImageRefusals, OfLayersThatCannotBe) {
    EXPECT_EQ(message_of<ProgramError>([] { Conv2d(0, 4, 3); }),
              "Conv2d: from 0 channels to 4, expected at least 1 of each");
    EXPECT_EQ(message_of<ProgramError>([] {
                  Conv2d(1, 4, {3, 0});
              }),
              "Conv2d: kernel_size is [3, 0], expected height and width from 1 to 1048576");
    EXPECT_EQ(message_of<ProgramError>([] { Conv2d(1, 4, 3, 0); }),
              "Conv2d: stride is [0, 0], expected height and width from 1 to 1048576");
    EXPECT_EQ(message_of<ProgramError>([] {
                  Conv2d(1, 4, {3, 2}, 1, 2);
              }),
              "Conv2d: padding is [2, 2], expected less than kernel_size, [3, 2]");
    EXPECT_THAT(message_of<ProgramError>([] { Conv2d(1, 4, 3, 1, -1); }), HasSubstr("padding is [-1, -1]"));
    EXPECT_THAT(message_of<ProgramError>([] { Conv2d(1 << 30, 1 << 30, 1 << 20); }),
                HasSubstr("expected at most 2^48 elements"));
    EXPECT_THAT(message_of<ProgramError>([] { MaxPool2d(0); }),
                HasSubstr("MaxPool2d: kernel_size is [0, 0]"));
    EXPECT_THAT(message_of<ProgramError>([] { AvgPool2d(2, 2, 2); }),
                HasSubstr("AvgPool2d: padding is [2, 2], expected less than kernel_size, [2, 2]"));
}

TEST(EmbeddingRefusals, NameIdsAndRows) {
    Embedding table(5, 2, {.name = "words"});
    EXPECT_EQ(message_of<Error>([&] {
                  table(Tensor::of(std::vector<std::int64_t>{0, 4, 5}, {3})).values();
              }),
              "id 5 at place 2 of the batch is outside of the table's rows 0..4");
    EXPECT_THROW(table(Tensor::of(std::vector<std::int64_t>{-1}, {1})).values(), Error);
    EXPECT_EQ(message_of<ProgramError>([&] { table(Tensor::full({3}, 1)); }),
              "operator embedding: ids 'ids' is float32 [3], expected integers (int64 or int32)");
    EXPECT_THAT(message_of<ProgramError>([] { Embedding(0, 2); }), HasSubstr("[0, 2]"));
    EXPECT_EQ(message_of<ProgramError>([] { Embedding(5, 2, {.padding_idx = 5}); }),
              "embedding: padding_idx is 5, which is none of the table's rows 0..4");
    EXPECT_THROW(Embedding(5, 2, {.padding_idx = -6}), ProgramError);
    EXPECT_THAT(message_of<ProgramError>(
                    [] { embedding(Tensor::full({1}, 0, DataType::int64), Tensor::full({3}, 1)); }),
                HasSubstr("operator embedding: weight 'weight' is float32 [3], expected float32 [any, any]"));
}

TEST(LayerNormRefusals, NameTheShapes) {
    LayerNorm norm(4);
    EXPECT_EQ(message_of<ProgramError>([&] {
                  norm(Tensor::full({4, 3}, 1));
              }),
              "layer_norm: x is float32 [4, 3], expected the last axes to be [4], and one before them");
    EXPECT_THROW(norm(Tensor::full({4}, 1)), ProgramError);
    EXPECT_EQ(message_of<ProgramError>([] {
                  LayerNorm({3, 0});
              }),
              "LayerNorm: normalized_shape is [3, 0], expected extents of at least 1");
    EXPECT_THROW(LayerNorm(Shape{}), ProgramError);
    EXPECT_EQ(message_of<ProgramError>([] {
                  layer_norm(Tensor::full({2, 3}, 1), {3}, Tensor::full({2}, 1), Tensor::full({3}, 0));
              }),
              "operator layer_norm: scale 'scale' is float32 [2], expected float32 [3]");
}

TEST(ShapeRefusals, NameAxesAndSizes) {
    const auto x = Tensor::full({2, 5}, 1);
    EXPECT_EQ(message_of<ProgramError>([&] {
                  concat({x, x}, 2);
              }),
              "concat: axis is axis 2, and the tensor is float32 [2, 5]");
    EXPECT_THAT(message_of<ProgramError>([&] {
                    concat({x, Tensor::full({2, 4}, 1)}, 0);
                }),
                testing::AllOf(HasSubstr("operator concat"), HasSubstr("[2, 4]"), HasSubstr("[any, 5]")));
    EXPECT_THROW(concat({}), ProgramError);
    EXPECT_THAT(message_of<ProgramError>([&] {
                    split(x, {2, 2}, 1);
                }),
                testing::AllOf(HasSubstr("operator split"), HasSubstr("[2, 2]"), HasSubstr("add up to 5")));
    EXPECT_THROW(split(x, {5, -1}, 1), ProgramError);
    EXPECT_THROW(split(x, {-1, -1}, 1), ProgramError);
    EXPECT_THROW(split(x, {}, 1), ProgramError);
    EXPECT_THAT(message_of<ProgramError>([&] { bce_with_logits(x, Tensor::full({2}, 1)); }),
                testing::AllOf(HasSubstr("operator bce_with_logits"), HasSubstr("[2, 5]")));
    EXPECT_THAT(message_of<ProgramError>([&] { matmul(x, x); }), HasSubstr("operator matmul"));
}

}  // namespace
}  // namespace dtrain::nn
