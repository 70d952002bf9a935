// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A regression whose ranks are started by a plain program: ./regression [1|2|3|4 [STEPS]] runs the four forms
// of spawn() in Paddle's documents, with one step by default.
#include <cstdio>
#include <cstdlib>
#include <random>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/parallel_env.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/spawn.hpp>

namespace layers = dtrain::layers;

void train(bool print_result, int steps) {
    // 1. This process becomes a rank.
    const dtrain::ParallelEnv env(0, nullptr);

    // 2. Two linear layers, mean square error, Adam; the gradients are averaged over all ranks.
    dtrain::Program program;
    const auto inputs = layers::data(program, "inputs", {10, 10});
    const auto labels = layers::data(program, "labels", {10, 1});
    const auto outputs = layers::fc(program, layers::fc(program, inputs, 10), 1);
    const auto loss = layers::mse_loss(program, outputs, labels);
    dtrain::minimize(program, loss, dtrain::Adam{.learning_rate = 0.001});
    dtrain::Executor executor(dtrain::data_parallel(program, {.ranks = env.world_size()}),
                              dtrain::State(program, 1), env.communicator());

    // 3. Training steps with this rank's own samples.
    std::mt19937 generator(static_cast<unsigned>(env.rank()));
    std::normal_distribution<float> normal;
    for (int step = 0; step < steps; ++step) {
        for (const auto& fed : {executor.feed<float>("inputs"), executor.feed<float>("labels")})
            for (float& value : fed) value = normal(generator);
        executor.run();
        if (print_result) std::printf("loss: %.6f\n", executor.fetch_scalar(loss));
    }
    if (!dtrain::parameters_are_identical(executor.state(), env.communicator())) std::abort();
}

int main(int argc, char** argv) {
    const int form = argc > 1 ? std::atoi(argv[1]) : 3;
    const int steps = argc > 2 ? std::atoi(argv[2]) : 1;
    if (form == 1) dtrain::spawn([=] { train(false, steps); });    // every visible GPU, or core
    if (form == 2) dtrain::spawn(train, std::tuple(true, steps));  // with arguments
    if (form == 3) dtrain::spawn(train, std::tuple(true, steps), {.nprocs = 2});
    if (form == 4) dtrain::spawn(train, std::tuple(true, steps), {.nprocs = 2, .gpus = "4,5"});
}
