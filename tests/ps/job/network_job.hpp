// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "linear_job.hpp"
#include "program/runtime/trained_networks.hpp"

/// Networks that trainers and servers train together, on CPUs or GPUs, and one process for comparison.
namespace dtrain {

inline constexpr std::int64_t part = 8;  // samples of a trainer in a step
inline constexpr int steps = 24;
inline constexpr std::uint64_t seed = 5;
inline constexpr double loss_tolerance = 1e-4;

/// Ids that an operator has put into another shape, some of them padding, in a table that is used twice;
/// Momentum with a schedule and decay, also of the rows.
inline TrainedNetwork sparse_model(bool is_distributed) {
    return {"SparseModel",
            [is_distributed](Program& program, std::int64_t batch) {
                const auto ids = layers::data(program, "ids", {batch * 3}, DataType::int64);
                const auto more = layers::data(program, "more", {batch, 2}, DataType::int64);
                const auto label = layers::data(program, "label", {batch, 1});
                const layers::EmbeddingOptions table{
                    .is_sparse = true, .padding_idx = 7, .is_distributed = is_distributed, .name = "table"};
                const auto rows_of = [&](const std::string& of) {
                    return layers::flatten(program, layers::embedding(program, of, 40, 4, table));
                };
                const auto shaped = layers::reshape(program, ids, {batch, 3});
                const auto x = layers::concat(program, {rows_of(shaped), rows_of(more)}, 1);
                const auto hidden = layers::fc(program, x, 1800, {.activation = "tanh"});
                const auto loss = layers::mean(
                    program, layers::bce_with_logits(program, layers::fc(program, hidden, 1), label));
                minimize(program, loss, Momentum{.learning_rate = 0.05},
                         {.schedule = LearningRateSchedule{ExponentialDecay{0.05, 4, 0.8}},
                          .regularisation = L2Decay{1e-3}});
                return loss;
            },
            [](Executor& executor, std::size_t first) {
                const auto ids = executor.feed<std::int64_t>("ids");
                for (std::size_t i = 0; i < ids.size(); ++i)
                    ids[i] = static_cast<std::int64_t>((i * i * 5 + first * 11) % 40);
                const auto more = executor.feed<std::int64_t>("more");
                std::copy_n(ids.rbegin(), more.size(), more.begin());
                const auto label = executor.feed<float>("label");
                for (std::size_t i = 0; i < label.size(); ++i)
                    label[i] = static_cast<float>((first / 8 + i) % 2);
            },
            1e-3};
}

struct Trained {
    std::vector<float> losses;  ///< of this trainer
    std::map<std::string, std::vector<float>> parameters;
};

inline std::map<std::string, std::vector<float>> parameters_of(const State& state) {
    std::map<std::string, std::vector<float>> values;
    for (const auto& tensor : state.tensors())
        if (tensor.role == Role::parameter) {
            const auto view = tensor.view.as<float>();
            values[tensor.name].assign(view.begin(), view.end());
        }
    return values;
}

/// The losses of the batches of trainer `number` of so many.
inline Trained trained_by_one(const TrainedNetwork& network, int trainers, int number) {
    Program program;
    const auto loss = network.build(program, part);
    const auto parallel = data_parallel(program, {.micro_batches = trainers});
    const State state(parallel, seed);
    Executor executor(parallel, state, {}, {.device = Device::cpu(), .threads = 1, .keep = {loss}});
    Trained trained;
    for (int step = 0; step < steps; ++step) {
        for (int i = 0; i < trainers; ++i) {
            network.feed(executor, static_cast<std::size_t>((step * trainers + i) * part));
            if (trainers == 1)
                executor.run();
            else
                executor.accumulate();
            if (i == number) trained.losses.push_back(executor.fetch_scalar(loss));
        }
        if (trainers > 1) executor.update();
    }
    trained.parameters = parameters_of(state);
    return trained;
}

struct Job {
    ServerMode mode = ServerMode::sync;
    std::int64_t push_every = 2;
    bool prefetches = false;
    bool meets =
        false;  ///< in the middle of training: with that, servers and trainers have all of each other
    ExecutorOptions executor = {.device = Device::gpu(), .threads = 1};
    int most_merged = 1;
    std::int64_t staleness = 0;
    Device servers = Device::cpu();
};

/// Nothing on servers.
inline std::optional<Trained> trained_with(int servers, const TrainedNetwork& network, Job job = {}) {
    Program program;
    const auto loss = network.build(program, part);
    const ServerRanks ranks(test_world(), servers);
    const auto transpiler = transpiled(ranks, program, job.mode, job.push_every);
    const ServerJobOptions options{.mode = job.mode,
                                   .staleness = job.staleness,
                                   .most_merged = job.most_merged,
                                   .seed = seed,
                                   .threads = 1,
                                   .device = job.servers};
    if (ranks.serves()) {
        serve(ranks, transpiler, options);
        return std::nullopt;
    }
    ServerConnection connection(ranks, transpiler, options);
    const auto trainer = transpiler.get_trainer_program();
    const State state(trainer, 77);
    connection.pull_parameters(state);
    job.executor.servers = connection.link();
    job.executor.keep = {loss};
    Executor executor(trainer, state, {}, job.executor);
    const auto first_of = [&](int step) {
        return static_cast<std::size_t>((step * ranks.trainers() + ranks.number()) * part);
    };
    Trained trained;
    std::optional<Executor> next;  // only has its data
    if (job.prefetches) {
        Program in_one;
        sparse_model(false).build(in_one, part);
        next.emplace(in_one, State(in_one, 1), Communicator(), ExecutorOptions{.device = Device::cpu()});
    }
    for (int step = 0; step < steps; ++step) {
        network.feed(executor, first_of(step));
        if (next) {
            network.feed(*next, first_of(step + 1));
            connection.prefetch("table.weight", next->feed<std::int64_t>("ids"));
        }
        executor.run();
        trained.losses.push_back(executor.fetch_scalar(loss));
        if (job.meets && step == steps / 2) {
            connection.finish();
            ranks.peers().barrier();
            connection.pull_parameters(state);
            ranks.peers().barrier();
        }
    }
    connection.finish();
    ranks.peers().barrier();
    connection.pull_parameters(state);
    trained.parameters = parameters_of(state);
    EXPECT_TRUE(parameters_are_identical(state, ranks.peers()));
    connection.leave();
    return trained;
}

inline void expect_alike(const Trained& given, const Trained& expected, double of_losses,
                         double of_parameters) {
    ASSERT_EQ(given.losses.size(), expected.losses.size());
    for (std::size_t i = 0; i < expected.losses.size(); ++i)
        EXPECT_NEAR(given.losses[i], expected.losses[i], of_losses) << i;
    for (const auto& [name, values] : given.parameters) {
        const auto& wanted = expected.parameters.at(name);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            ASSERT_NEAR(values[i], wanted[i], of_parameters) << name << ' ' << i;
    }
}

inline void expect_the_bits(const std::optional<Trained>& given, const std::optional<Trained>& expected) {
    if (!given) return;
    EXPECT_EQ(given->losses, expected->losses);
    EXPECT_EQ(given->parameters, expected->parameters);
}

}  // namespace dtrain
