// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: central differences in double precision, see check_gradients.hpp.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "program/schemas/check_gradients.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

// Adds layers to a program with x [3, 4], label [3] and weight [3]; returns the loss.
using Build = std::function<std::string(Program&)>;

void check_all_gradients(const Build& build) {
    dtrain::check_gradients([&](Program& program, DataType type) {
        layers::data(program, "x", {3, 4}, type);
        layers::data(program, "label", {3}, DataType::int64);
        layers::data(program, "weight", {3}, type);
        return build(program);
    });
}

TEST(Gradients, Fc) {
    check_all_gradients([](Program& program) { return layers::mean(program, layers::fc(program, "x", 2)); });
}

TEST(Gradients, FcOfFc) {
    check_all_gradients([](Program& program) {
        return layers::mean(program, layers::fc(program, layers::fc(program, "x", 5), 2));
    });
}

TEST(Gradients, Relu) {
    check_all_gradients([](Program& program) {
        return layers::mean(program,
                            layers::fc(program, layers::fc(program, "x", 5, {.activation = "relu"}), 2));
    });
}

TEST(Gradients, Tanh) {
    check_all_gradients([](Program& program) {
        return layers::mean(program,
                            layers::fc(program, layers::fc(program, "x", 5, {.activation = "tanh"}), 2));
    });
}

TEST(Gradients, Sigmoid) {
    check_all_gradients([](Program& program) {
        return layers::mean(program, layers::sigmoid(program, layers::fc(program, "x", 5)));
    });
}

TEST(Gradients, ActivationsOfTheirOwn) {
    check_all_gradients([](Program& program) {
        return layers::mean(program,
                            layers::tanh(program, layers::relu(program, layers::fc(program, "x", 5))));
    });
}

TEST(Gradients, SoftmaxWithCrossEntropy) {
    check_all_gradients([](Program& program) {
        return layers::softmax_with_cross_entropy(program, layers::fc(program, "x", 3), "label").loss;
    });
}

TEST(Gradients, WeightedSum) {
    check_all_gradients([](Program& program) {
        const auto names = layers::softmax_with_cross_entropy(program, layers::fc(program, "x", 3), "label");
        return layers::weighted_sum(program, names.row_loss, "weight");
    });
}

TEST(Gradients, OfAParameterThatIsUsedThreeTimesAreAdded) {
    check_all_gradients([](Program& program) {
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
    check_all_gradients([](Program& program) {
        const auto type = program.variable("x").type;
        add_parameter(program, "table", {2, 3}, type);
        add_parameter(program, "offset.bias", {4}, type);
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
