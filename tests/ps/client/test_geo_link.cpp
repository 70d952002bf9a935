// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: SGD with rate 1 and gradients of 1. Of N trainers each sends the N-th part of what it has changed,
// so that a parameter changes by the average of all.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/transpiler.hpp>

#include "ps/client/client.hpp"
#include "ps/client/geo_link.hpp"
#include "ps/client/pumped_transport.hpp"
#include "ps/job/layout.hpp"
#include "ps/server/server.hpp"
#include "ps/small_server.hpp"

namespace dtrain::ps {
namespace {

/// The bias of a trainer that is one of some, and the only one that trains, after each step; a step's
/// gradient is 1.
std::vector<float> biases(int trainers, std::int64_t push_every, int steps) {
    Program program;
    const auto x = layers::data(program, "x", {1, 1});
    minimize(program, layers::reduce_sum(program, layers::fc(program, x, 1, {.name = "fc"})), Sgd{1});
    DistributeTranspiler transpiler({.geo_sgd_mode = true, .geo_sgd_need_push_nums = push_every});
    transpiler.transpile(program, {.pservers = "a:1", .trainers = trainers, .sync_mode = false});

    const auto transports = comm::local_transports(2);
    Server server({.mode = ServerMode::geo, .trainers = {1}},
                  DensePart(transpiler.get_pserver_program("a:1"), blocks_on(transpiler, 0), 1, 1, 1), {},
                  *transports[0]);
    Pumped transport(*transports[1], [&] {
        while (auto message = transports[0]->receive()) take_and_answer(server, std::move(*message));
    });
    ClientOptions options{
        .mode = ServerMode::geo, .servers = {0}, .layouts = {""}, .dense = {server.dense().size()}};
    Client client(options, transport);
    client.join();
    const auto link = std::make_shared<GeoLink>(ParameterParts(transpiler.placements(), {}),
                                                std::vector<LocalRows>(), trainers, client);
    const auto trainer = transpiler.get_trainer_program();
    const State state(trainer, 1);
    Executor executor(trainer, state, {}, {.threads = 1, .servers = link});
    executor.feed<float>("x")[0] = 0;
    std::vector<float> values;
    for (int step = 0; step < steps; ++step) {
        executor.run();
        values.push_back(executor.fetch<float>("fc.bias")[0]);
    }
    link->finish();
    values.push_back(executor.fetch<float>("fc.bias")[0]);
    link->pull_parameters(state);
    EXPECT_EQ(values.back(), executor.fetch<float>("fc.bias")[0]) << "it knew what the server has";
    client.leave();
    return values;
}

TEST(GeoLinks, SendTheirFractionOfWhatTheyHaveChanged) {
    // The answer takes back what the others have not changed.
    EXPECT_EQ(biases(2, 1, 1), (std::vector<float>{-1, -0.5F}));
    EXPECT_EQ(biases(4, 1, 1), (std::vector<float>{-1, -0.25F}));
    EXPECT_EQ(biases(1, 1, 1), (std::vector<float>{-1, -1}));
}

TEST(GeoLinks, SendTheChangesOfSeveralStepsTogether) {
    EXPECT_EQ(biases(2, 3, 2), (std::vector<float>{-1, -2, -1}));
    EXPECT_EQ(biases(2, 2, 3).back(), -1.5F);
}

}  // namespace
}  // namespace dtrain::ps
