// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: central differences. f(p + h) - f(p - h) over 2h is the slope up to h^2 and the rounding of f over
// h.
#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "support/message_of.hpp"

namespace dtrain {
namespace {

// Adds layers to a program with x [3, 4], label [3] and weight [3]; returns the loss.
using Build = std::function<std::string(Program&)>;

void feed(Executor& executor) {
    const auto& program = executor.program();
    if (program.has("x")) {
        const auto x = executor.feed<float>("x");
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(1.0F + 2.3F * static_cast<float>(i));
    }
    if (program.has("label")) {
        const auto label = executor.feed<std::int64_t>("label");
        for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<std::int64_t>(i * 2 % 3);
    }
    if (program.has("weight")) {
        const auto weight = executor.feed<float>("weight");
        for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = 0.5F + static_cast<float>(i);
    }
}

void check_gradients(const Build& build) {
    Program program;
    layers::data(program, "x", {3, 4});
    layers::data(program, "label", {3}, DataType::int64);
    layers::data(program, "weight", {3});
    const auto loss = build(program);
    const auto forward = for_test(program, {loss});
    const auto gradients = append_backward(program, loss);
    ASSERT_FALSE(gradients.empty());

    const State state(program, 5);
    // Biases start at zero, where relu has its corner; anything else will do.
    for (const auto& tensor : state.tensors())
        if (tensor.name.ends_with("bias"))
            for (auto& value : tensor.view.as<float>()) value = 0.3F;
    Executor backward(program, state);
    Executor evaluate(forward, state);
    feed(backward);
    feed(evaluate);
    backward.run();
    evaluate.run();
    ASSERT_EQ(backward.fetch_scalar(loss), evaluate.fetch_scalar(loss)) << "both see the same forward pass";

    double largest = 0;
    for (const auto& [parameter, gradient] : gradients) {
        const auto slopes = backward.fetch(gradient);
        const auto values = state.find(parameter)->view.as<float>();
        ASSERT_EQ(slopes.size(), values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            const float before = values[i];
            const float h = 4e-3F;
            values[i] = before + h;
            evaluate.run();
            const double above = evaluate.fetch_scalar(loss);
            values[i] = before - h;
            evaluate.run();
            const double below = evaluate.fetch_scalar(loss);
            values[i] = before;
            EXPECT_NEAR(slopes[i], (above - below) / (2.0 * h), 4e-4) << parameter << "[" << i << "]";
            largest = std::max(largest, std::fabs(static_cast<double>(slopes[i])));
        }
    }
    EXPECT_GT(largest, 0.02) << "gradients that are all nearly zero prove nothing";
}

TEST(Gradients, Fc) {
    check_gradients([](Program& program) { return layers::mean(program, layers::fc(program, "x", 2)); });
}

TEST(Gradients, FcOfFc) {
    check_gradients([](Program& program) {
        return layers::mean(program, layers::fc(program, layers::fc(program, "x", 5), 2));
    });
}

TEST(Gradients, Relu) {
    check_gradients([](Program& program) {
        return layers::mean(program,
                            layers::fc(program, layers::fc(program, "x", 5, {.activation = "relu"}), 2));
    });
}

TEST(Gradients, Tanh) {
    check_gradients([](Program& program) {
        return layers::mean(program,
                            layers::fc(program, layers::fc(program, "x", 5, {.activation = "tanh"}), 2));
    });
}

TEST(Gradients, Sigmoid) {
    check_gradients([](Program& program) {
        return layers::mean(program, layers::sigmoid(program, layers::fc(program, "x", 5)));
    });
}

TEST(Gradients, ActivationsOfTheirOwn) {
    check_gradients([](Program& program) {
        return layers::mean(program,
                            layers::tanh(program, layers::relu(program, layers::fc(program, "x", 5))));
    });
}

TEST(Gradients, SoftmaxWithCrossEntropy) {
    check_gradients([](Program& program) {
        return layers::softmax_with_cross_entropy(program, layers::fc(program, "x", 3), "label").loss;
    });
}

TEST(Gradients, WeightedSum) {
    check_gradients([](Program& program) {
        const auto names = layers::softmax_with_cross_entropy(program, layers::fc(program, "x", 3), "label");
        return layers::weighted_sum(program, names.row_loss, "weight");
    });
}

TEST(Gradients, OfAParameterThatIsUsedThreeTimesAreAdded) {
    check_gradients([](Program& program) {
        auto hidden = layers::fc(program, "x", 4, {.activation = "tanh", .name = "shared"});
        for (const std::string name : {"second", "third"}) {
            program.append_with_outputs(
                {"fc",
                 {{"x", hidden}, {"weight", "shared.weight"}, {"bias", "shared.bias"}},
                 {{"out", name}},
                 {}});
            hidden = layers::tanh(program, name);
        }
        return layers::mean(program, hidden);
    });
}

// A parameter as the input of fc: its weight is data, so only x and bias have gradients that somebody wants.
TEST(Gradients, ByTheInputAlone) {
    check_gradients([](Program& program) {
        program.add({.name = "table",
                     .shape = {2, 3},
                     .role = Role::parameter,
                     .initializer = Initializer::xavier_uniform(2, 3)});
        program.add({.name = "offset.bias", .shape = {4}, .role = Role::parameter});
        program.append_with_outputs(
            {"fc", {{"x", "table"}, {"weight", "x"}, {"bias", "offset.bias"}}, {{"out", "product"}}, {}});
        return layers::mean(program, layers::tanh(program, "product"));
    });
}

TEST(Gradients, ComeLastLayerFirst) {
    Program program;
    layers::data(program, "x", {3, 4});
    auto hidden = layers::fc(program, "x", 5, {.activation = "tanh", .name = "first"});
    hidden = layers::fc(program, hidden, 5, {.name = "last"});
    const auto gradients = append_backward(program, layers::mean(program, hidden));
    EXPECT_THAT(gradients, testing::ElementsAre(ParameterGradient{"last.weight", "last.weight@grad"},
                                                ParameterGradient{"last.bias", "last.bias@grad"},
                                                ParameterGradient{"first.weight", "first.weight@grad"},
                                                ParameterGradient{"first.bias", "first.bias@grad"}));
}

std::string backward_error(const Build& build) {
    Program program;
    layers::data(program, "x", {3, 4});
    layers::data(program, "label", {3}, DataType::int64);
    const auto loss = build(program);
    const auto before = program;
    const auto message = tests::message_of<ProgramError>([&] { append_backward(program, loss); });
    EXPECT_EQ(program, before);
    return message;
}

TEST(Gradients, ThatCannotBeAreRefused) {
    EXPECT_EQ(backward_error([](Program& program) { return layers::fc(program, "x", 2); }),
              "append_backward: the loss 'fc_0.out' is float32 [3, 2], expected float32 [1]");
    EXPECT_EQ(backward_error([](Program& program) { return layers::mean(program, "x"); }),
              "append_backward: the loss 'mean_0' depends on no parameter");
    EXPECT_EQ(
        backward_error(
            [](Program& program) { return layers::accuracy(program, layers::fc(program, "x", 3), "label"); }),
        "operator accuracy: it has no gradient, and the loss 'accuracy_0' depends on its out 'accuracy_0'");
    EXPECT_EQ(backward_error([](Program& program) {
                  const auto names =
                      layers::softmax_with_cross_entropy(program, layers::fc(program, "x", 3), "label");
                  return layers::mean(program, names.probabilities);
              }),
              "operator softmax_with_cross_entropy: only row_loss has a gradient, and the loss depends on "
              "probabilities 'cross_entropy_0.probabilities'");
    EXPECT_EQ(
        backward_error([](Program& program) {
            const auto names =
                layers::softmax_with_cross_entropy(program, layers::fc(program, "x", 3), "label");
            program.add({.name = "scale", .shape = {3}, .role = Role::parameter});
            return layers::weighted_sum(program, names.row_loss, "scale");
        }),
        "operator weighted_sum: it has no gradient by its weight 'scale', which depends on a parameter");
}

}  // namespace
}  // namespace dtrain
