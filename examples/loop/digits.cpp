// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Handwritten digits with a user-defined training loop, from docs/programs.md: a static program, made data
// parallel and run by an Executor. The same program runs on one rank (./loop digits.h5) and on many (mpirun
// -np 2 ./loop digits.h5).
#include <algorithm>
#include <cstdio>
#include <string>

#include <dtrain/dataset.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/parallel_env.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/run_main.hpp>
#include <dtrain/sampler.hpp>

using namespace dtrain;

namespace {

constexpr std::int64_t global_batch = 100;  // samples per step, of all ranks together
constexpr std::int64_t epochs = 10;
constexpr std::uint64_t seed = 1;  // for the initial parameters and the order of the samples

int train(const std::string& file, const Communicator& ranks) {
    const auto data = Dataset::read({.file = file, .x = "train/x", .y = "train/y", .scale = 1.0F / 16});
    const auto test = Dataset::read({.file = file, .x = "test/x", .y = "test/y", .scale = 1.0F / 16});

    DistributedSampler sampler({.samples = data.size(),
                                .global_batch = global_batch,
                                .rank = ranks.rank(),
                                .ranks = ranks.size(),
                                .seed = seed});
    const auto batch = sampler.local_batch();

    Program network;
    const auto x = layers::data(network, "x", {batch, 64});
    const auto label = layers::data(network, "label", {batch}, DataType::int64);
    const auto weight = layers::data(network, "weight", {batch});
    const auto hidden = layers::fc(network, x, 128, {.activation = "relu"});
    const auto scores = layers::fc(network, hidden, 10);
    const auto cost = layers::softmax_with_cross_entropy(network, scores, label);
    const auto loss_sum = layers::weighted_sum(network, cost.row_loss, weight);
    const auto right = layers::correct_count(network, scores, label, weight);

    auto program = network;
    minimize(program, cost.loss, Adam{.learning_rate = 0.002});
    const State state(program, seed);
    Executor trainer(data_parallel(program, {.ranks = ranks.size()}), state, ranks);
    Executor tester(for_test(network, {right}), state);

    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
        sampler.start_epoch(epoch);
        double loss = 0;
        for (std::int64_t step = 0; step < sampler.steps(); ++step) {
            const auto part = sampler.batch(step);
            data.gather(part.samples, trainer.feed<float>(x), trainer.feed<std::int64_t>(label));
            std::ranges::copy(part.weights, trainer.feed<float>(weight).begin());
            trainer.run();
            loss += trainer.fetch_scalar(loss_sum);
        }
        loss = ranks.sum(loss) / static_cast<double>(data.size());
        if (ranks.rank() == 0) std::printf("epoch %2d  loss %.4f\n", static_cast<int>(epoch) + 1, loss);
    }

    DistributedSampler in_order({.samples = test.size(),
                                 .global_batch = global_batch,
                                 .rank = ranks.rank(),
                                 .ranks = ranks.size(),
                                 .order = SampleOrder::sequential});
    double found = 0;
    for (std::int64_t step = 0; step < in_order.steps(); ++step) {
        const auto part = in_order.batch(step);
        test.gather(part.samples, tester.feed<float>(x), tester.feed<std::int64_t>(label));
        std::ranges::copy(part.weights, tester.feed<float>(weight).begin());
        tester.run();
        found += tester.fetch_scalar(right);
    }
    found = ranks.sum(found);
    const bool same = parameters_are_identical(state, ranks);
    if (ranks.rank() == 0)
        std::printf("ranks %d, test accuracy %.4f, parameters %s\n", ranks.size(),
                    found / static_cast<double>(test.size()), same ? "identical" : "differ");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return run_main(argv[0], [&] {
        const ParallelEnv env(argc, argv);
        return train(argc > 1 ? argv[1] : "digits.h5", env.communicator());
    });
}
