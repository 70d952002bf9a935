// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what the layers' own functions give (test_functions.cpp), numbers worked out by hand, and names and
// first values of the layers of Programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/nn.hpp>

#include "support/message_of.hpp"

namespace dtrain::nn {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::Pointwise;
using tests::message_of;

std::vector<std::string> names_of(const Layer& layer) {
    std::vector<std::string> names;
    for (const auto& parameter : layer.parameters()) names.push_back(parameter.name());
    return names;
}

class LinearNet : public Layer {
  public:
    Tensor forward(const Tensor& x) override { return linear2_(linear1_(x)); }

  private:
    Linear& linear1_ = add<Linear>(10, 10);
    Linear& linear2_ = add<Linear>(10, 1);
};

class WithSkip : public Layer {
  public:
    Tensor forward(const Tensor& x) override { return (inner_(x) + x) * scale_; }

  private:
    Sequential& inner_ = add<Sequential>(Linear(4, 4), Dropout(0.5), ReLU());
    Parameter scale_ = add_parameter("scale", {2, 4}, Initializer::constant(2));
};

TEST(Layers, OfOnesOwnHaveTheParametersOfTheirs) {
    seed(1);
    LinearNet net;
    EXPECT_THAT(names_of(net), ElementsAre("fc_0.weight", "fc_0.bias", "fc_1.weight", "fc_1.bias"));
    EXPECT_EQ(net(randn({3, 10})).shape(), (Shape{3, 1}));

    WithSkip skip;
    EXPECT_THAT(names_of(skip), ElementsAre("scale", "fc_2.weight", "fc_2.bias"));
    skip.eval();
    const auto x = Tensor::full({2, 4}, 1);
    sum(skip(x)).backward();
    for (const auto& parameter : skip.parameters()) EXPECT_TRUE(parameter.has_gradient());
}

TEST(Layers, AMovedOneGoesOnWhereItIs) {
    seed(1);
    LinearNet net;
    const auto x = randn({3, 10});
    const auto before = net(x);
    auto moved = std::move(net);
    const auto after = moved(x);
    EXPECT_THAT(after.values(), Pointwise(FloatEq(), before.values()));
    EXPECT_TRUE(net.parameters().empty());  // NOLINT(bugprone-use-after-move)
    Linear linear(2, 3);
    const auto taken = std::move(linear);
    EXPECT_THROW(linear(Tensor::full({1, 2}, 1)), EmptyError);  // NOLINT(bugprone-use-after-move)
}

TEST(Layers, SeedsAndNamesDecideHowTheyBegin) {
    const auto first = [](std::uint64_t with) {
        seed(with);
        const Linear made(8, 8);
        return std::vector<float>(made.weight().values().begin(), made.weight().values().end());
    };
    EXPECT_EQ(first(3), first(3));
    EXPECT_NE(first(3), first(4));
    seed(3);
    const Linear one(8, 8);
    const Linear two(8, 8);
    EXPECT_NE(one.weight().values()[0], two.weight().values()[0]);
    EXPECT_THAT(two.bias().values(), testing::Each(0));
}

TEST(Layers, OfEveryKindHaveTheParametersOfThePrograms) {
    seed(4);
    const Sequential net{Conv2d(3, 4, {2, 5}), LayerNorm({4, 6}), Embedding(7, 2), Conv2d(4, 1, 1),
                         LayerNorm(2, 1e-5, {.name = "last"})};
    Program program;
    layers::conv2d(program, layers::data(program, "x", {1, 3, 8, 8}), 4, {2, 5});
    layers::layer_norm(program, layers::data(program, "y", {1, 4, 6}));
    layers::embedding(program, layers::data(program, "ids", {1}, DataType::int64), 7, 2);
    layers::conv2d(program, layers::data(program, "z", {1, 4, 1, 1}), 1, 1);
    layers::layer_norm(program, layers::data(program, "u", {1, 2}), {.name = "last"});
    const State state(program, 4);

    std::vector<std::string> expected;
    for (const auto& tensor : state.tensors()) expected.push_back(tensor.name);
    EXPECT_THAT(names_of(net), testing::UnorderedElementsAreArray(expected));
    EXPECT_THAT(names_of(net),
                testing::IsSupersetOf({"conv2d_0.filter", "conv2d_1.bias", "layer_norm_0.scale",
                                       "embedding_0.weight", "last.bias"}));
    for (const auto& parameter : net.parameters()) {
        const auto& view = state.find(parameter.name())->view;
        EXPECT_EQ(parameter.shape(), view.shape) << parameter.name();
        EXPECT_TRUE(std::ranges::equal(parameter.values(), view.as<float>())) << parameter.name();
    }
}

TEST(Layers, TakeSizesAsPaddleDoes) {
    const auto x = Tensor::full({1, 2, 12, 12}, 1);
    EXPECT_EQ(MaxPool2d(2)(x).shape(), (Shape{1, 2, 6, 6}));
    EXPECT_EQ(MaxPool2d({2, 3})(x).shape(), (Shape{1, 2, 6, 4}));
    EXPECT_EQ((MaxPool2d{{2, 3}}(x).shape()), (Shape{1, 2, 6, 4}));
    EXPECT_EQ((MaxPool2d{2, 3}(x).shape()), (Shape{1, 2, 4, 4}));  // a window of 2 and a stride of 3
    EXPECT_EQ(MaxPool2d(3, 2, 1)(x).shape(), (Shape{1, 2, 6, 6}));
    EXPECT_EQ(AvgPool2d({2, 3}, {1, 3}, {1, 0})(x).shape(), (Shape{1, 2, 13, 4}));
    EXPECT_EQ(AvgPool2d({4, 6})(x).shape(), (Shape{1, 2, 3, 2}));
    EXPECT_EQ(Conv2d(2, 5, 3)(x).shape(), (Shape{1, 5, 10, 10}));
    EXPECT_EQ(Conv2d(2, 5, {3, 5}, {1, 2}, {1, 2})(x).shape(), (Shape{1, 5, 12, 6}));
    EXPECT_EQ(LayerNorm({2, 12, 12}).weight().shape(), (Shape{288}));
    EXPECT_EQ(LayerNorm({12, 12}).weight().shape(), (Shape{144}));
    EXPECT_EQ(LayerNorm(Shape{12}).weight().shape(), (Shape{12}));
    EXPECT_EQ(LayerNorm(12).weight().shape(), (Shape{12}));
    EXPECT_THAT(Softmax()(Tensor::full({2, 4}, 7)).values(), testing::Each(FloatEq(0.25)));
}

TEST(Layers, LossesAreObjectsToo) {
    const auto logits = Tensor::of(std::vector<float>{1, 3}, {1, 2});
    const auto label = Tensor::full({1}, 1, DataType::int64);
    EXPECT_EQ(CrossEntropyLoss()(logits, label).item(), cross_entropy(logits, label).item());
    const CrossEntropyLoss of_probabilities{{.use_softmax = false}};
    EXPECT_FLOAT_EQ(of_probabilities(softmax(logits), label).item(), cross_entropy(logits, label).item());
    const auto wanted = Tensor::full({1, 2}, 0.5);
    EXPECT_EQ(BCEWithLogitsLoss()(logits, wanted).item(), bce_with_logits(logits, wanted).item());
}

TEST(Layers, PaddingIsNeverTrained) {
    seed(1);
    Embedding table(3, 2, {.padding_idx = -1});
    const auto ids = Tensor::of(std::vector<std::int64_t>{0, 2, 2, 1}, {4});
    const auto rows = table(ids);
    EXPECT_THAT(rows.values().subspan(2, 4), testing::Each(0));
    sum(rows).backward();
    EXPECT_THAT(table.weight().gradient(), ElementsAre(1, 1, 1, 1, 0, 0));
}

TEST(Layers, TrainAndEvalAreForAll) {
    WithSkip skip;
    EXPECT_TRUE(skip.is_training());
    skip.eval();
    EXPECT_FALSE(skip.layers()[0]->layers()[1]->is_training());
    skip.train();
    EXPECT_TRUE(skip.layers()[0]->layers()[1]->is_training());
}

TEST(DropoutLayer, DropsInTrainingAlone) {
    seed(1);
    Dropout dropout(0.25);
    const auto x = Tensor::full({100, 100}, 3);
    const auto made = dropout(x);
    const auto dropped = std::ranges::count(made.values(), 0.0F);
    EXPECT_NEAR(static_cast<double>(dropped), 2500, 5 * std::sqrt(10'000 * 0.25 * 0.75));
    EXPECT_EQ(std::ranges::count(made.values(), 4.0F), 10'000 - dropped);
    const auto next = dropout(x);
    EXPECT_FALSE(std::ranges::equal(made.values(), next.values()));
    dropout.eval();
    EXPECT_TRUE(std::ranges::equal(dropout(x).values(), x.values()));
}

TEST(DropoutLayer, AGradientIsDroppedAsItsOwnUseWas) {
    seed(1);
    Dropout dropout(0.5);
    const Parameter p("p", {8, 8}, Initializer::constant(1));
    const auto first = dropout(p);
    const auto second = dropout(p);
    sum(first).backward();
    EXPECT_THAT(p.gradient(), Pointwise(FloatEq(), first.values()));
    p.zero_grad();
    sum(second).backward();
    EXPECT_THAT(p.gradient(), Pointwise(FloatEq(), second.values()));
}

TEST(DropoutLayer, PartsOfABatchDropAsTheWhole) {
    seed(1);
    Dropout whole(0.5);
    seed(1);
    Dropout part(0.5);
    const auto expected = whole(Tensor::full({4, 9}, 1));
    part.set_part(1);
    const auto rest = part(Tensor::full({2, 9}, 1));
    EXPECT_TRUE(std::ranges::equal(rest.values(), expected.values().subspan(18)));
}

TEST(Refusals, OfLayers) {
    EXPECT_EQ(message_of<UsageError>([] { Dropout(1); }),
              "Dropout: the probability is 1, expected at least 0 and below 1");
    EXPECT_THROW(Linear(0, 3), ProgramError);
    EXPECT_THROW(Linear(3, -1), ProgramError);
    Sequential net{Flatten(), Linear(4, 2, {.name = "fc"})};
    EXPECT_EQ(message_of<ProgramError>([&] {
                  net(Tensor::full({3, 5, 1}, 1));
              }),
              "operator fc: weight 'fc.weight' is float32 [4, 2], expected float32 [5, any]");
}

}  // namespace
}  // namespace dtrain::nn
