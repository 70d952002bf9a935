// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: data_parallel(), which the modes "nccl2" and "collective" promise to be, bit for bit; a regression
// of small whole numbers by plain loops over the global batch, in which 1, 2 and 4 ranks round nothing and so
// must have the same bits; with local SGD the same loops of each rank alone, and of their averages; what the
// options promise. Runs at 1, 2 and 4 ranks.
#include <array>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/transpiler.hpp>

#include "program/runtime/classifier.hpp"
#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Ne;
using tests::message_of;

std::string endpoint(int trainer) {
    return "10.0.0." + std::to_string(trainer + 1) + ":6170";
}

/// What this rank runs in a job of so many trainers.
Program transpiled(const Program& program, const DistributeTranspilerConfig& config, int trainers) {
    std::string endpoints = endpoint(0);
    for (int trainer = 1; trainer < trainers; ++trainer) endpoints += "," + endpoint(trainer);
    const int self = test_world().rank();
    DistributeTranspiler transpiler(config);
    transpiler.transpile(
        program, {.trainer_id = self, .trainer_endpoints = endpoints, .current_endpoint = endpoint(self)});
    return transpiler.get_trainer_program();
}

ExecutorOptions this_trainer() {
    return {.threads = 1, .num_trainers = test_world().size(), .trainer_id = test_world().rank()};
}

void expect_same_bits(const State& state, const State& expected) {
    ASSERT_EQ(state.tensors().size(), expected.tensors().size());
    for (const auto& tensor : expected.tensors()) {
        const auto* other = state.find(tensor.name);
        ASSERT_NE(other, nullptr) << tensor.name;
        ASSERT_EQ(other->view.bytes(), tensor.view.bytes()) << tensor.name;
        EXPECT_EQ(std::memcmp(other->view.data, tensor.view.data, tensor.view.bytes()), 0) << tensor.name;
    }
}

class CollectiveTraining : public testing::TestWithParam<const char*> {};

TEST_P(CollectiveTraining, HasTheBitsOfDataParallel) {
    const auto& world = test_world();
    constexpr std::size_t batch = 8;
    const Optimizer optimizers[] = {Sgd{.learning_rate = 0.05}, Momentum{.learning_rate = 0.01}, Adam{}};
    for (const auto& optimizer : optimizers) {
        auto made = make_classifier(batch);
        minimize(made.program, made.cross_entropy.loss, optimizer);
        const auto train = [&](const Program& program, const ExecutorOptions& options) {
            State state(program, 1);
            Executor executor(program, state, world, options);
            for (std::size_t step = 0; step < 20; ++step) {
                const auto first =
                    step * static_cast<std::size_t>(world.size()) + static_cast<std::size_t>(world.rank());
                feed_samples(executor, first * batch);
                executor.run();
            }
            return state;
        };
        const auto together =
            train(transpiled(made.program, {.mode = GetParam()}, world.size()), this_trainer());
        const auto expected = train(data_parallel(made.program, {.ranks = world.size()}), {.threads = 1});
        expect_same_bits(together, expected);
        EXPECT_TRUE(parameters_are_identical(together, world));
        EXPECT_NE(parameters_checksum(together), parameters_checksum(State(made.program, 1))) << "it trains";
    }
}

constexpr int rows = 2;  // of each rank
constexpr int columns = 3;
constexpr double learning_rate = 0.125;

/// Of row `row` of step `step` of the global batch: small whole numbers, other ones on each rank.
float input(int step, int row, int column) {
    return static_cast<float>((step * 5 + row * 3 + column * 7) % 4 - 1);
}
float target(int step, int row) {
    return static_cast<float>((step + row * row) % 5 - 2);
}

/// Weights and, at last, the bias.
using Weights = std::array<double, columns + 1>;

/// Of a batch of the rows from `first` on, one step of SGD.
void descend(Weights& weights, int step, int first, int count) {
    Weights gradient{};
    const auto seen = [&](int row, std::size_t column) {
        return column + 1 == weights.size() ? 1.0F : input(step, row, static_cast<int>(column));
    };
    for (int row = first; row < first + count; ++row) {
        double error = -static_cast<double>(target(step, row));
        for (std::size_t column = 0; column < weights.size(); ++column)
            error += weights[column] * seen(row, column);
        for (std::size_t column = 0; column < weights.size(); ++column)
            gradient[column] += 2 * error / count * seen(row, column);
    }
    for (std::size_t column = 0; column < weights.size(); ++column)
        weights[column] -= learning_rate * gradient[column];
}

/// A regression with the variables "x" and "y".
Program regression() {
    Program program;
    const auto x = layers::data(program, "x", {rows, columns});
    const auto y = layers::data(program, "y", {rows, 1});
    const auto loss = layers::mse_loss(program, layers::fc(program, x, 1, {.name = "fc"}), y);
    minimize(program, loss, Sgd{learning_rate});
    return program;
}

void feed_rows_of_this_rank(Executor& executor, int step) {
    const auto x = executor.feed<float>("x");
    const auto y = executor.feed<float>("y");
    for (int i = 0; i < rows; ++i) {
        const int row = test_world().rank() * rows + i;
        y[static_cast<std::size_t>(i)] = target(step, row);
        for (int column = 0; column < columns; ++column)
            x[static_cast<std::size_t>(i * columns + column)] = input(step, row, column);
    }
}

State from_zero(const Program& program) {
    State state(program, 1);
    std::ranges::fill(state.find("fc.weight")->view.as<float>(), 0.0F);
    return state;
}

Weights weights_of(const State& state) {
    Weights weights{};
    std::ranges::copy(state.find("fc.weight")->view.as<float>(), weights.begin());
    weights.back() = static_cast<double>(state.find("fc.bias")->view.as<float>()[0]);
    return weights;
}

TEST_P(CollectiveTraining, HasTheBitsOfTheWholeBatchWhereNothingIsRounded) {
    const auto& world = test_world();
    const auto trainer = transpiled(regression(), {.mode = GetParam()}, world.size());
    const auto state = from_zero(trainer);
    Executor executor(trainer, state, world, this_trainer());
    Weights expected{};
    for (int step = 0; step < 3; ++step) {
        feed_rows_of_this_rank(executor, step);
        executor.run();
        descend(expected, step, 0, rows * world.size());
    }
    EXPECT_EQ(weights_of(state), expected);
    EXPECT_THAT(expected, Each(Ne(0))) << "it trains";
}

TEST(LocalSgdTrainers, HaveTheBitsOfPlainLoopsWhereNothingIsRounded) {
    const auto& world = test_world();
    constexpr int every = 2;
    const auto trainer = transpiled(
        regression(), {.mode = "collective", .collective_mode = "local_sgd", .local_sgd_steps = every},
        world.size());
    const auto state = from_zero(trainer);
    Executor executor(trainer, state, world, this_trainer());
    std::vector<Weights> expected(static_cast<std::size_t>(world.size()));
    for (int step = 0; step < 4; ++step) {
        feed_rows_of_this_rank(executor, step);
        executor.run();
        for (int rank = 0; rank < world.size(); ++rank)
            descend(expected[static_cast<std::size_t>(rank)], step, rank * rows, rows);
        for (std::size_t column = 0; column < columns + 1 && (step + 1) % every == 0; ++column) {
            double sum = 0;
            for (const auto& weights : expected) sum += weights[column];
            for (auto& weights : expected) weights[column] = sum / world.size();
        }
        EXPECT_EQ(weights_of(state), expected[static_cast<std::size_t>(world.rank())]) << step;
        EXPECT_EQ(parameters_are_identical(state, world), world.size() == 1 || (step + 1) % every == 0);
    }
}

TEST_P(CollectiveTraining, IsRefusedWithOtherTrainersThanRanks) {
    const auto& world = test_world();
    const int ranks = world.size();
    auto made = make_classifier(4);
    minimize(made.program, made.cross_entropy.loss, Sgd{});
    const auto program = transpiled(made.program, {.mode = GetParam()}, ranks);
    const auto refusal = [&](std::optional<int> num_trainers, std::optional<int> trainer_id) {
        return message_of([&] {
            Executor(program, State(program, 1), world,
                     {.num_trainers = num_trainers, .trainer_id = trainer_id});
        });
    };
    const std::string has = ranks == 1 ? "has 1 rank:" : "has " + std::to_string(ranks) + " ranks:";
    for (const int wrong : {ranks + 1, ranks - 1, -1}) {
        EXPECT_EQ(refusal(wrong, world.rank()), "num_trainers is " + std::to_string(wrong) +
                                                    ", but the communicator " + has +
                                                    " was the job started with as many?");
    }
    for (const int wrong : {world.rank() + 1, world.rank() - 1, ranks})
        EXPECT_EQ(refusal(ranks, wrong), "trainer_id is " + std::to_string(wrong) + ", but this is rank " +
                                             std::to_string(world.rank()) + " of the communicator");
    EXPECT_EQ(refusal(ranks, world.rank()), "") << "what was refused leaves no rank waiting";
    const auto of_more = transpiled(made.program, {.mode = GetParam()}, ranks + 1);
    EXPECT_THAT(message_of<ProgramError>([&] { Executor(of_more, State(of_more, 1), world); }),
                HasSubstr("made data parallel for " + std::to_string(ranks + 1) + " ranks"))
        << "trainer_endpoints name more trainers than there are ranks";
}

INSTANTIATE_TEST_SUITE_P(Modes, CollectiveTraining, testing::Values("nccl2", "collective"));

}  // namespace
}  // namespace dtrain
