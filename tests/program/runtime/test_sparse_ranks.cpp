// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: one process that trains the whole batch, whose sparse gradients test_embedding.cpp checks; with
// virtual ranks, the bits of one process. Runs at 1, 2 and 4 ranks.
#include <cmath>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "support/message_of.hpp"
#include "support/on_gpu.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

constexpr std::int64_t users = 50;
constexpr std::int64_t shops = 20;
constexpr std::int64_t nobody = 7;  // an id that stands for none
constexpr std::int64_t never = 49;  // a user that is never looked up
constexpr std::size_t sparse_steps = 8;

/// Clicks of users in shops; the table of users is looked up twice.
Program clicks(std::int64_t batch, const Optimizer& optimizer, const OptimizerOptions& options,
               bool has_dense) {
    Program program;
    const auto table = [&](const std::string& ids, std::int64_t rows, std::int64_t width,
                           const std::string& name) {
        layers::data(program, ids, {batch}, DataType::int64);
        return layers::embedding(program, ids, rows, width,
                                 {.is_sparse = true,
                                  .padding_idx = name == "user" ? std::optional(nobody) : std::nullopt,
                                  .name = name});
    };
    auto x = layers::concat(
        program,
        {table("user", users, 5, "user"), table("friend", users, 5, "user"), table("shop", shops, 3, "shop")},
        1);
    if (has_dense) x = layers::fc(program, x, 4, {.activation = "tanh"});
    const auto y = layers::data(program, "y", {batch, has_dense ? 4 : 13});
    minimize(program, layers::mse_loss(program, x, y), optimizer, options);
    return program;
}

void feed_clicks(Executor& executor, std::size_t first) {
    const auto user = executor.feed<std::int64_t>("user");
    const auto other = executor.feed<std::int64_t>("friend");
    const auto shop = executor.feed<std::int64_t>("shop");
    const auto y = executor.feed<float>("y");
    for (std::size_t i = 0; i < user.size(); ++i) {
        const auto number = static_cast<std::int64_t>(first + i);
        user[i] = number * 11 % never;
        other[i] = number % 3 == 0 ? nobody : number * 5 % never;
        shop[i] = number / 2 % shops;  // neighbours share one
    }
    for (std::size_t i = 0; i < y.size(); ++i)
        y[i] = static_cast<float>(std::sin(static_cast<double>(first * y.size() / user.size() + i)));
}

State train_alone(std::int64_t batch, const Optimizer& optimizer, const OptimizerOptions& options,
                  bool has_dense) {
    const auto program = clicks(batch, optimizer, options, has_dense);
    State state(program, 1);
    Executor executor(program, state, {}, {.threads = 1});
    for (std::size_t step = 0; step < sparse_steps; ++step) {
        feed_clicks(executor, step * static_cast<std::size_t>(batch));
        executor.run();
    }
    return state;
}

/// Batches one after the other, as many as each rank has to give.
void train_step(Executor& executor, std::size_t first, std::size_t batch, int batches) {
    for (int number = 0; number < batches; ++number) {
        feed_clicks(executor, first + static_cast<std::size_t>(number) * batch);
        executor.accumulate();
    }
    executor.update();
}

/// Each rank's batches are parts of the global ones.
void train_on_ranks(Executor& executor, const Communicator& world, std::size_t batch) {
    for (std::size_t step = 0; step < sparse_steps; ++step) {
        feed_clicks(
            executor,
            (step * static_cast<std::size_t>(world.size()) + static_cast<std::size_t>(world.rank())) * batch);
        executor.run();
    }
}

State train_virtually(const Communicator& world, int parts, std::int64_t part, const Optimizer& optimizer,
                      const OptimizerOptions& options, bool has_dense) {
    const auto program = with_virtual_ranks(clicks(part, optimizer, options, has_dense), parts);
    State state(program, 1);
    Executor executor(program, state, world, {.threads = 1});
    const auto own = executor.virtual_ranks();
    for (std::size_t step = 0; step < sparse_steps; ++step)
        train_step(executor,
                   (step * static_cast<std::size_t>(parts) + static_cast<std::size_t>(own.begin)) *
                       static_cast<std::size_t>(part),
                   static_cast<std::size_t>(part), own.count());
    return state;
}

void expect_near(const State& state, const State& expected, const std::string& what) {
    for (const auto& tensor : state.tensors()) {
        if (tensor.view.type != DataType::float32) continue;
        const auto values = tensor.view.as<float>();
        const auto wanted = expected.find(tensor.name)->view.as<float>();
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_NEAR(values[i], wanted[i], 2e-5) << what << " " << tensor.name << " " << i;
    }
}

struct Way {
    const char* name;
    Optimizer optimizer;
    OptimizerOptions options = {};
    bool has_dense = true;
};

std::vector<Way> ways() {
    return {{"sgd", Sgd{.learning_rate = 0.5}},
            {"tables alone", Sgd{.learning_rate = 0.5}, {}, false},
            {"momentum", Momentum{.learning_rate = 0.2}},
            {"adagrad", Adagrad{.learning_rate = 0.1}},
            {"adam", Adam{.learning_rate = 0.01, .epsilon = 1e-3}},
            {"adamw", AdamW{.learning_rate = 0.01, .epsilon = 1e-3}},
            {"ftrl", Ftrl{.learning_rate = 0.1}}};
}

std::vector<Way> adjusted_ways() {
    auto all = ways();
    all.push_back({"clipped and decayed",
                   Sgd{.learning_rate = 0.5},
                   {.clipping = ClipByGlobalNorm{0.05}, .regularisation = L2Decay{0.01}}});
    all.push_back({"clipped one by one",
                   Sgd{.learning_rate = 0.5},
                   {.clipping = ClipByNorm{0.02}, .regularisation = L1Decay{0.001}}});
    return all;
}

TEST(SparseGradientsOfRanks, TrainAsOneProcessWithTheWholeBatch) {
    const auto& world = test_world();
    const std::int64_t batch = 12;
    for (const auto& [name, optimizer, options, has_dense] : adjusted_ways()) {
        const auto program =
            data_parallel(clicks(batch, optimizer, options, has_dense), {.ranks = world.size()});
        State state(program, 1);
        Executor executor(program, state, world, {.threads = 1});
        train_on_ranks(executor, world, static_cast<std::size_t>(batch));
        expect_near(state, train_alone(batch * world.size(), optimizer, options, has_dense), name);
        EXPECT_TRUE(parameters_are_identical(state, world)) << name;
        const State untrained(program, 1);
        const auto row = [](const State& of, std::int64_t number) {
            const auto all = of.find("user.weight")->view.as<float>();
            return std::vector<float>(all.begin() + number * 5, all.begin() + (number + 1) * 5);
        };
        EXPECT_EQ(row(state, never), row(untrained, never)) << name << ": nobody looked it up";
        EXPECT_EQ(row(state, nobody), row(untrained, nobody)) << name << ": it stands for none";
        EXPECT_NE(row(state, 11), row(untrained, 11)) << name << ": it did train";
    }
}

TEST(SparseGradientsOfRanks, AreTheSameBitsForAnyNumberOfRanksThatShareVirtualOnes) {
    const auto& world = test_world();
    for (const int parts : {4, 5, 8})
        for (const auto& [name, optimizer, options, has_dense] : adjusted_ways()) {
            const auto alone = train_virtually({}, parts, 3, optimizer, options, has_dense);
            const auto together = train_virtually(world, parts, 3, optimizer, options, has_dense);
            EXPECT_EQ(parameters_checksum(together), parameters_checksum(alone)) << name << " " << parts;
            expect_near(alone, train_alone(3 * parts, optimizer, options, has_dense), name);
        }
}

TEST(SparseGradientsOfRanks, OfSeveralBatchesAreAsOfOneLargeOne) {
    const auto& world = test_world();
    constexpr int micro_batches = 3;
    constexpr std::size_t part = 4;
    for (const auto& [name, optimizer, options, has_dense] : adjusted_ways()) {
        const auto program = data_parallel(clicks(part, optimizer, options, has_dense),
                                           {.ranks = world.size(), .micro_batches = micro_batches});
        const State state(program, 1);
        Executor executor(program, state, world, {.threads = 1});
        const auto global = part * micro_batches * static_cast<std::size_t>(world.size());
        for (std::size_t step = 0; step < sparse_steps; ++step)
            train_step(executor,
                       step * global + static_cast<std::size_t>(world.rank()) * micro_batches * part, part,
                       micro_batches);
        expect_near(state, train_alone(static_cast<std::int64_t>(global), optimizer, options, has_dense),
                    name);
        EXPECT_TRUE(parameters_are_identical(state, world)) << name;
    }
}

TEST(SparseGradientsOfRanks, UpdateOneCopyOfTheParameters) {
    if (tests::executors_are_on_a_gpu()) GTEST_SKIP() << "a GPU does not do one_copy";
    const auto& world = test_world();
    const std::int64_t batch = 12;
    for (const auto& [name, optimizer, options, has_dense] : ways()) {
        const auto program = data_parallel(clicks(batch, optimizer, options, has_dense),
                                           {.ranks = world.size(), .one_copy = true});
        const State state(program, 1, world);
        EXPECT_EQ(state.is_shared(), world.size() > 1);
        Executor executor(program, state, world, {.threads = 1});
        train_on_ranks(executor, world, static_cast<std::size_t>(batch));
        expect_near(state, train_alone(batch * world.size(), optimizer, options, has_dense), name);
        EXPECT_TRUE(parameters_are_identical(state, world)) << name;
        world.barrier();  // nobody changes what others still compare
    }
}

TEST(SparseGradientsOfRanks, MayBeOfNoRowAtAll) {
    const auto& world = test_world();
    const auto program = data_parallel(clicks(2, Adagrad{}, {}, true), {.ranks = world.size()});
    const State state(program, 1);
    Executor executor(program, state, world);
    feed_clicks(executor, 0);
    const auto use_nobody = [&](const char* ids) {
        std::ranges::fill(executor.feed<std::int64_t>(ids), nobody);
    };
    use_nobody("user");
    use_nobody("friend");
    executor.run();
    const State untrained(program, 1);
    const auto bits = [](const State& of) {
        const auto values = of.find("user.weight")->view.as<float>();
        return std::vector<float>(values.begin(), values.end());
    };
    EXPECT_EQ(bits(state), bits(untrained));
    EXPECT_TRUE(parameters_are_identical(state, world));
}

TEST(SparseGradientsOfRanks, SayWhatCannotBeAdded) {
    const auto& world = test_world();
    const auto plain = clicks(2, Sgd{}, {}, true);
    Executor alone(plain, State(plain, 1));
    EXPECT_THAT(message_of<Error>([&] { alone.accumulate(); }),
                HasSubstr("the sparse gradient 'user.weight@grad'"));
    const auto twice = data_parallel(plain, {.ranks = world.size(), .micro_batches = 2});
    Executor executor(twice, State(twice, 1), world);
    feed_clicks(executor, 0);
    executor.accumulate();
    executor.accumulate();
    EXPECT_THAT(message_of<Error>([&] { executor.accumulate(); }), HasSubstr("all 2 batches"));

    Program exact;
    const auto ids = layers::data(exact, "ids", {2}, DataType::int64);
    const auto out =
        layers::embedding(exact, ids, 4, 3, {.is_sparse = true, .type = DataType::float64, .name = "table"});
    minimize(exact, layers::mean(exact, out), Sgd{});
    EXPECT_EQ(message_of<ProgramError>([&] { data_parallel(exact, {.ranks = 2}); }),
              "data_parallel: the sparse gradient 'table.weight@grad' is float64, and ranks add float32");
}

}  // namespace
}  // namespace dtrain
