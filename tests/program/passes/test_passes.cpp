// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: hand-checked program text, and what each pass promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Program two_layers() {
    Program program;
    const auto x = layers::data(program, "x", {4, 3});
    const auto hidden = layers::fc(program, x, 2, {.activation = "tanh", .name = "a"});
    layers::mean(program, layers::fc(program, hidden, 5, {.name = "b"}));
    return program;
}

// The operators' lines of a program's text.
std::string operators_of(const Program& program) {
    const auto text = program.to_string();
    const auto first = program.operators().front().type;
    return text.substr(text.find("\n  " + first + "(") + 1);
}

std::vector<std::string> types_of(const Program& program) {
    std::vector<std::string> types;
    for (const auto& op : program.operators()) types.push_back(op.type);
    return types;
}

TEST(DataParallel, PutsBucketsBehindTheirLastGradient) {
    auto program = two_layers();
    minimize(program, "mean_0", Sgd{.learning_rate = 0.5});
    // b.weight@grad and b.bias@grad have 40 + 20 bytes: two close a bucket of 41.
    EXPECT_EQ(operators_of(data_parallel(program, {.ranks = 4, .bucket_bytes = 41})),
              R"(  fc(x=x, weight=a.weight, bias=a.bias) -> out=a.out {activation=""}
  tanh(x=a.out) -> out=a.tanh
  fc(x=a.tanh, weight=b.weight, bias=b.bias) -> out=b.out {activation=""}
  mean(x=b.out) -> out=mean_0
  loss_gradient() -> out=mean_0@grad {value=0.25}
  mean_grad(x=b.out, out@grad=mean_0@grad) -> x@grad=b.out@grad
  fc_grad_weight(x=a.tanh, out@grad=b.out@grad) -> weight@grad=b.weight@grad, bias@grad=b.bias@grad
  allreduce_start(gradient=[b.weight@grad, b.bias@grad]) -> gradient=[b.weight@grad, b.bias@grad] {bucket=0, ranks=4}
  fc_grad_input(out@grad=b.out@grad, weight=b.weight) -> x@grad=a.tanh@grad
  tanh_grad(out=a.tanh, out@grad=a.tanh@grad) -> x@grad=a.out@grad
  fc_grad_weight(x=x, out@grad=a.out@grad) -> weight@grad=a.weight@grad, bias@grad=a.bias@grad
  allreduce_start(gradient=[a.weight@grad, a.bias@grad]) -> gradient=[a.weight@grad, a.bias@grad] {bucket=1, ranks=4}
  allreduce_wait(gradient=[b.weight@grad, b.bias@grad]) -> gradient=[b.weight@grad, b.bias@grad] {bucket=0, ranks=4}
  sgd(parameter=b.weight, gradient=b.weight@grad) -> parameter=b.weight {learning_rate=0.5}
  sgd(parameter=b.bias, gradient=b.bias@grad) -> parameter=b.bias {learning_rate=0.5}
  allreduce_wait(gradient=[a.weight@grad, a.bias@grad]) -> gradient=[a.weight@grad, a.bias@grad] {bucket=1, ranks=4}
  sgd(parameter=a.weight, gradient=a.weight@grad) -> parameter=a.weight {learning_rate=0.5}
  sgd(parameter=a.bias, gradient=a.bias@grad) -> parameter=a.bias {learning_rate=0.5}
}
)");
}

TEST(DataParallel, BucketSizeDecidesHowManyThereAre) {
    auto program = two_layers();
    minimize(program, "mean_0", Adam{});
    const auto buckets = [&](std::int64_t bytes) {
        std::vector<std::size_t> sizes;
        for (const auto& op : data_parallel(program, {.ranks = 2, .bucket_bytes = bytes}).operators())
            if (op.type == "allreduce_start") sizes.push_back(op.inputs.size());
        return sizes;
    };
    EXPECT_THAT(buckets(0), ElementsAre(1, 1, 1, 1));
    EXPECT_THAT(buckets(61), ElementsAre(3, 1));
    EXPECT_THAT(buckets(1 << 20), ElementsAre(4));
}

TEST(DataParallel, ABucketNeverWaitsForGradientsMadeAfterItsFirstUpdate) {
    // Updates as soon as a gradient is there, before the other gradients are made.
    auto program = two_layers();
    append_backward(program, "mean_0");
    Program interleaved;
    for (const auto& variable : program.variables()) interleaved.add(variable);
    for (const auto& op : program.operators()) {
        interleaved.append(op);
        if (op.type != "fc_grad_weight") continue;
        const std::string layer = op.output("weight@grad").substr(0, 1);
        interleaved.append({"sgd",
                            {{"parameter", layer + ".weight"}, {"gradient", layer + ".weight@grad"}},
                            {{"parameter", layer + ".weight"}},
                            {}});
    }
    std::vector<std::string> tail = types_of(data_parallel(interleaved, {.ranks = 2}));
    tail.erase(tail.begin(), std::ranges::find(tail, "mean_grad") + 1);
    EXPECT_THAT(tail,
                ElementsAre("fc_grad_weight", "allreduce_start", "allreduce_wait", "sgd", "fc_grad_input",
                            "tanh_grad", "fc_grad_weight", "allreduce_start", "allreduce_wait", "sgd"));
}

TEST(DataParallel, OneRankKeepsTheProgram) {
    auto program = two_layers();
    minimize(program, "mean_0", Adam{});
    EXPECT_EQ(data_parallel(program, {.ranks = 1}), program);
}

TEST(DataParallel, RefusesWhatItCannotAverage) {
    auto program = two_layers();
    EXPECT_THROW(data_parallel(program, {.ranks = 2}), ProgramError) << "nothing is updated";
    minimize(program, "mean_0", Adam{});
    EXPECT_THROW(data_parallel(program, {.ranks = 0}), ProgramError);
    const auto twice = data_parallel(program, {.ranks = 2});
    EXPECT_THROW(data_parallel(twice, {.ranks = 2}), ProgramError);
}

TEST(ForTest, KeepsWhatFetchesNeed) {
    Program program;
    const auto x = layers::data(program, "x", {4, 3});
    const auto label = layers::data(program, "label", {4}, DataType::int64);
    layers::data(program, "unused", {1});
    const auto logits = layers::fc(program, x, 2, {.name = "a"});
    const auto names = layers::softmax_with_cross_entropy(program, logits, label);
    const auto accuracy = layers::accuracy(program, logits, label);
    const auto forward = program;
    minimize(program, names.loss, Adam{});
    for (const auto& training : {program, data_parallel(program, {.ranks = 2})}) {
        EXPECT_THAT(types_of(for_test(training, {accuracy})), ElementsAre("fc", "accuracy"));
        EXPECT_THAT(types_of(for_test(training, {names.loss, accuracy})),
                    ElementsAre("fc", "softmax_with_cross_entropy", "mean", "accuracy"));
        EXPECT_EQ(for_test(training, {names.loss, accuracy}), for_test(forward, {accuracy, names.loss}));
        EXPECT_FALSE(for_test(training, {names.loss}).has("unused"));
        EXPECT_FALSE(for_test(training, {names.loss}).has("adam.step"));
        EXPECT_TRUE(for_test(training, {"a.weight"}).operators().empty()) << "a parameter is just there";
    }
}

TEST(ForTest, RefusesGradientsAndUnknownNames) {
    auto program = two_layers();
    minimize(program, "mean_0", Sgd{});
    const auto error = [&](const std::vector<std::string>& fetches) -> std::string {
        try {
            for_test(program, fetches);
        } catch (const ProgramError& thrown) {
            return thrown.what();
        }
        return "nothing was thrown";
    };
    EXPECT_THAT(error({"a.weight@grad"}), HasSubstr("'a.weight@grad' is a gradient"));
    EXPECT_THAT(error({"maen_0"}), HasSubstr("did you mean 'mean_0'?"));
    EXPECT_THAT(error({}), HasSubstr("no variable"));
}

TEST(FuseActivations, TakesOneThatNobodyElseReads) {
    Program program;
    const auto x = layers::data(program, "x", {4, 3});
    const auto one = layers::fc(program, x, 2, {.activation = "relu", .name = "one"});
    const auto two = layers::fc(program, one, 2, {.name = "two"});
    layers::tanh(program, two);
    layers::sigmoid(program, two);  // two readers: stays
    const auto fused = fuse_activations(program);
    EXPECT_EQ(operators_of(fused),
              R"(  fc(x=x, weight=one.weight, bias=one.bias) -> out=one.relu {activation="relu"}
  fc(x=one.relu, weight=two.weight, bias=two.bias) -> out=two.out {activation=""}
  tanh(x=two.out) -> out=tanh_0
  sigmoid(x=two.out) -> out=sigmoid_0
}
)");
    EXPECT_FALSE(fused.has("one.out"));
    EXPECT_EQ(fuse_activations(fused), fused);
}

TEST(FuseActivations, ComesAfterBackward) {
    const auto fused = fuse_activations(two_layers());
    auto program = fused;
    EXPECT_THROW(append_backward(program, "mean_0"), ProgramError);
    auto other = two_layers();
    append_backward(other, "mean_0");
    EXPECT_THAT(types_of(fuse_activations(other)),
                ElementsAre("fc", "fc", "mean", "loss_gradient", "mean_grad", "fc_grad_weight",
                            "fc_grad_input", "tanh_grad", "fc_grad_weight"));
}

}  // namespace
}  // namespace dtrain
