// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the rules of the interface, hand-written program text, and Xavier's formula.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "kernels/kernel.hpp"
#include "program/exchange/server_link.hpp"
#include "program/ir/exchanges.hpp"
#include "program/ir/operators.hpp"
#include "program/runtime/copy_of.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

Program small_classifier() {
    Program program;
    const auto x = layers::data(program, "x", {4, 3});
    const auto label = layers::data(program, "label", {4}, DataType::int64);
    const auto hidden = layers::fc(program, x, 2, {.activation = "tanh", .name = "hidden"});
    const auto logits = layers::fc(program, hidden, 5, {.name = "logits"});
    layers::softmax_with_cross_entropy(program, logits, label);
    return program;
}

TEST(Program, PrintsReadably) {
    EXPECT_EQ(small_classifier().to_string(), R"(program {
  data x float32 [4, 3]
  data label int64 [4]
  parameter hidden.weight float32 [3, 2] = uniform +-1.09545
  parameter hidden.bias float32 [2] = 0
  temporary hidden.out float32 [4, 2]
  temporary hidden.tanh float32 [4, 2]
  parameter logits.weight float32 [2, 5] = uniform +-0.92582
  parameter logits.bias float32 [5] = 0
  temporary logits.out float32 [4, 5]
  temporary cross_entropy_0.probabilities float32 [4, 5]
  temporary cross_entropy_0.row_loss float32 [4]
  temporary cross_entropy_0.loss float32 [1]
  fc(x=x, weight=hidden.weight, bias=hidden.bias) -> out=hidden.out {activation=""}
  tanh(x=hidden.out) -> out=hidden.tanh
  fc(x=hidden.tanh, weight=logits.weight, bias=logits.bias) -> out=logits.out {activation=""}
  softmax_with_cross_entropy(logits=logits.out, label=label) -> probabilities=cross_entropy_0.probabilities, row_loss=cross_entropy_0.row_loss
  mean(x=cross_entropy_0.row_loss) -> out=cross_entropy_0.loss
}
)");
}

TEST(Program, IsAValue) {
    const auto first = small_classifier();
    auto second = first;
    EXPECT_EQ(first, second);
    layers::relu(second, "x");
    EXPECT_NE(first, second);
    EXPECT_EQ(first.operators().size() + 1, second.operators().size());
}

TEST(Program, NamesWhatItMakes) {
    Program program;
    const auto x = layers::data(program, "x", {4, 3});
    EXPECT_EQ(layers::fc(program, x, 2), "fc_0.out");
    EXPECT_EQ(layers::fc(program, x, 2, {.activation = "relu"}), "fc_1.relu");
    EXPECT_EQ(layers::relu(program, x), "relu_0");
    EXPECT_EQ(layers::relu(program, x), "relu_1");
}

TEST(ProgramErrors, NameOperatorVariableExpectedAndGivenShape) {
    auto program = small_classifier();
    program.add({.name = "wide", .shape = {7, 2}, .role = Role::parameter});
    EXPECT_EQ(message_of<ProgramError>([&] {
                  program.append_with_outputs(
                      {"fc", {{"x", "x"}, {"weight", "wide"}, {"bias", "hidden.bias"}}, {{"out", "y"}}, {}});
              }),
              "operator fc: weight 'wide' is float32 [7, 2], expected float32 [3, any]");
    EXPECT_EQ(message_of<ProgramError>([&] { layers::accuracy(program, "logits.out", "x"); }),
              "operator accuracy: label 'x' is float32 [4, 3], expected int64 [4]");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  program.append({"relu", {{"x", "x"}}, {{"out", "hidden.out"}}, {}});
              }),
              "operator relu: out 'hidden.out' is float32 [4, 2], expected float32 [4, 3]");
    try {
        layers::accuracy(program, "logits.out", "x");
    } catch (const UsageError& error) {
        const auto* of_program = dynamic_cast<const ProgramError*>(&error);
        ASSERT_NE(of_program, nullptr);
        EXPECT_EQ(of_program->operator_type(), "accuracy");
        EXPECT_EQ(of_program->variable(), "x");
    }
}

TEST(ProgramErrors, SayWhatWasMeant) {
    auto program = small_classifier();
    EXPECT_EQ(message_of<ProgramError>([&] { layers::relu(program, "hiden.out"); }),
              "operator relu: input x: there is no variable 'hiden.out' in the program; did you mean "
              "'hidden.out'?");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  program.append({"rleu", {{"x", "x"}}, {{"out", "x"}}, {}});
              }),
              "there is no operator 'rleu'; did you mean 'relu'?");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  program.append({"loss_gradient", {}, {{"out", "cross_entropy_0.loss"}}, {{"valeu", 1.0}}});
              }),
              "operator loss_gradient: there is no attribute valeu; did you mean 'value'?");
    EXPECT_EQ(
        message_of<ProgramError>([&] {
            program.append({"loss_gradient", {}, {{"out", "cross_entropy_0.loss"}}, {{"value", "one"}}});
        }),
        "operator loss_gradient: attribute value is \"one\", expected something like 1");
}

TEST(ProgramErrors, OfSlots) {
    auto program = small_classifier();
    EXPECT_EQ(message_of<ProgramError>([&] {
                  program.append({"relu", {}, {{"out", "x"}}, {}});
              }),
              "operator relu: input x is given 0 times, expected once");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  program.append({"sum", {}, {{"out", "x"}}, {}});
              }),
              "operator sum: input x is given 0 times, expected at least once");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  program.append({"relu", {{"x", "x"}, {"y", "x"}}, {{"out", "x"}}, {}});
              }),
              "operator relu: there is no input y; did you mean 'x'?");
}

TEST(ProgramErrors, OfVariablesAndLayers) {
    auto program = small_classifier();
    EXPECT_EQ(message_of<ProgramError>([&] { layers::data(program, "x", {1}); }),
              "there is a variable 'x' in the program already");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  layers::data(program, "z", {4, 0});
              }),
              "variable 'z' has shape [4, 0], expected extents of at least 1");
    EXPECT_EQ(message_of<ProgramError>([&] { layers::data(program, "bytes", {1}, DataType::uint8); }),
              "variable 'bytes' is uint8, expected float32, int64, float64 or int32");
    EXPECT_EQ(message_of<ProgramError>([&] { layers::fc(program, "x", 3, {.activation = "tahn"}); }),
              "layer fc: activation 'tahn' is unknown, expected relu, tanh, sigmoid, softmax or none");
    EXPECT_EQ(message_of<ProgramError>([&] { layers::fc(program, "label", 3); }),
              "layer fc: x 'label' is int64 [4], expected float32 [batch, n]");
    EXPECT_EQ(message_of<ProgramError>([&] { layers::fc(program, "x", 0); }), "layer fc: size 0 is below 1");
    EXPECT_EQ(message_of<ProgramError>([&] {
                  program.append_with_outputs({"relu", {{"x", "x"}}, {{"out", "x"}}, {}});
              }),
              "operator relu: out 'x' is in the program already");
}

TEST(Operators, EachOneThatComputesHasAKernel) {
    for (const auto& type : program::operator_types()) {
        if (program::is_communication({type, {}, {}, {}}) || program::needs_servers(type)) continue;
        EXPECT_TRUE(kernels::has_cpu_kernel(type)) << type;
    }
}

TEST(Optimizers, RefuseSettingsThatCannotTrain) {
    const auto minimized = [](const Optimizer& optimizer) {
        auto program = small_classifier();
        minimize(program, "cross_entropy_0.loss", optimizer);
    };
    EXPECT_THAT(message_of<ProgramError>([&] { minimized(Sgd{.learning_rate = -1}); }),
                HasSubstr("learning_rate is -1"));
    EXPECT_THAT(message_of<ProgramError>([&] { minimized(Momentum{.mu = 1}); }), HasSubstr("mu is 1"));
    EXPECT_THAT(message_of<ProgramError>([&] { minimized(Adam{.beta2 = 1.5}); }), HasSubstr("beta2 is 1.5"));
    EXPECT_THAT(message_of<ProgramError>([&] { minimized(Adam{.learning_rate = std::nan("")}); }),
                HasSubstr("learning_rate is nan"));
}

TEST(Optimizers, LeaveTheProgramWholeWhenTheyFail) {
    auto program = small_classifier();
    const auto before = program;
    EXPECT_THROW(minimize(program, "cross_entropy_0.loss", Adam{.beta1 = 2}), ProgramError);
    EXPECT_EQ(program, before);
    minimize(program, "cross_entropy_0.loss", Adam{});
    const auto trained = program;
    EXPECT_THROW(minimize(program, "cross_entropy_0.loss", Adam{}), ProgramError) << "twice";
    EXPECT_EQ(program, trained);
}

TEST(State, StartsWithXavierWeightsAndZeroBias) {
    Program program;
    layers::fc(program, layers::data(program, "x", {1, 300}), 200, {.name = "big"});
    const State state(program, 42);
    const auto weight = state.find("big.weight")->view.as<float>();
    const double limit = std::sqrt(6.0 / 500.0);
    double sum = 0;
    double squares = 0;
    for (const float value : weight) {
        ASSERT_LE(std::fabs(value), limit);
        sum += value;
        squares += static_cast<double>(value) * value;
    }
    const auto count = static_cast<double>(weight.size());
    // A uniform distribution's mean and variance; five standard errors.
    EXPECT_NEAR(sum / count, 0, 5 * limit / std::sqrt(3 * count));
    EXPECT_NEAR(squares / count, limit * limit / 3, 5 * limit * limit * 0.3 / std::sqrt(count));
    EXPECT_THAT(state.find("big.bias")->view.as<float>(), testing::Each(0.0F));
    EXPECT_EQ(state.find("small.weight"), nullptr);
}

TEST(State, DependsOnSeedAndNameAlone) {
    Program one;
    layers::fc(one, layers::data(one, "x", {1, 30}), 20, {.name = "a"});
    Program two;  // another order and other neighbours
    const auto x = layers::data(two, "x", {8, 30});
    layers::fc(two, x, 20, {.name = "b"});
    layers::fc(two, x, 20, {.name = "a"});
    const auto values = [](const Program& program, std::uint64_t seed, const std::string& name) {
        return copy_of(State(program, seed).find(name)->view.as<float>());
    };
    EXPECT_EQ(values(one, 7, "a.weight"), values(two, 7, "a.weight"));
    EXPECT_NE(values(one, 7, "a.weight"), values(one, 8, "a.weight"));
    EXPECT_NE(values(two, 7, "a.weight"), values(two, 7, "b.weight"));
}

TEST(State, ListsParametersAndOptimizerStateInProgramOrder) {
    auto program = small_classifier();
    minimize(program, "cross_entropy_0.loss", Adam{});
    const State state(program, 1);
    std::vector<std::string> names;
    for (const auto& tensor : state.tensors()) {
        names.push_back(tensor.name);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.view.data) % 64, 0U);
    }
    EXPECT_THAT(names, ElementsAre("hidden.weight", "hidden.bias", "logits.weight", "logits.bias",
                                   "adam.step", "logits.weight.moment1", "logits.weight.moment2",
                                   "logits.bias.moment1", "logits.bias.moment2", "hidden.weight.moment1",
                                   "hidden.weight.moment2", "hidden.bias.moment1", "hidden.bias.moment2"));
    EXPECT_EQ(state.find("adam.step")->view.as<std::int64_t>()[0], 0);
}

TEST(State, ChecksumSeesEveryBitOfTheParameters) {
    auto program = small_classifier();
    minimize(program, "cross_entropy_0.loss", Adam{});
    const State state(program, 1);
    const State copy = state;
    const State clone = state.clone();
    const auto before = parameters_checksum(state);
    EXPECT_EQ(parameters_checksum(clone), before);
    state.find("adam.step")->view.as<std::int64_t>()[0] = 5;
    EXPECT_EQ(parameters_checksum(state), before) << "optimizer state is not counted";
    auto bias = state.find("logits.bias")->view.as<float>();
    bias[4] = -0.0F;  // equal to the 0 before, but other bits
    EXPECT_NE(parameters_checksum(state), before);
    EXPECT_EQ(parameters_checksum(copy), parameters_checksum(state)) << "copies share their memory";
    EXPECT_EQ(parameters_checksum(clone), before) << "clones do not";
    EXPECT_EQ(clone.find("adam.step")->view.as<std::int64_t>()[0], 0);
    EXPECT_TRUE(parameters_are_identical(state, Communicator()));
}

}  // namespace
}  // namespace dtrain
