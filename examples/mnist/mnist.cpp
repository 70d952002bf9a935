// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// The MNIST network of Paddle's documents as a static program: see examples/README.md for data and options.
#include <chrono>
#include <cstdio>

#include <dtrain/dtrain.hpp>

using namespace dtrain;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

int train(int argc, char** argv) {
    const Arguments args(argc, argv,
                         {{"--epochs", "10"}, {"--steps", "1000000000"}, {"--every", "200"}, {"--save", ""}});
    const auto epochs = args.number("--epochs"), max = args.number("--steps"),
               gap = args.number("--every", 1);
    const ParallelEnv env(argc, argv);
    const auto& ranks = env.communicator();
    const std::filesystem::path folder = args.word(0, "digits-idx");
    const auto data = Dataset::read({.file = folder / "train-images-idx3-ubyte", .scale = 1.0F / 255});
    const auto test = Dataset::read({.file = folder / "t10k-images-idx3-ubyte", .scale = 1.0F / 255});
    Program net;
    const auto x = layers::data(net, "x", {64, 28, 28}), y = layers::data(net, "y", {64}, DataType::int64);
    const auto fc_1 = layers::fc(net, layers::flatten(net, x), 128, {.activation = "tanh"});
    const auto fc_2 = layers::fc(net, fc_1, 128, {.activation = "tanh"});
    const auto cost = layers::softmax_with_cross_entropy(net, layers::fc(net, fc_2, 10), y);
    auto program = net;
    minimize(program, cost.loss, Adam{.learning_rate = 0.01});
    const auto weight = layers::data(net, "weight", {64});  // 0 for what pads the last batch
    const auto right = layers::correct_count(net, cost.probabilities, y, weight);
    Executor trainer(data_parallel(program, {.ranks = ranks.size()}), State(program, 1), ranks);
    Executor tester(for_test(net, {right}), trainer.state());
    Batches fed(trainer, data, ranks, {.x = x, .label = y, .seed = 1, .last_batch = LastBatch::drop});
    Batches tests(tester, test, ranks, {.x = x, .label = y, .weight = weight});
    const auto steps = std::min(max, epochs * fed.steps()), every = std::min(gap, fed.steps());
    for (std::int64_t epoch = 0, done = 0; done < steps; ++epoch) {
        std::vector<Clock::time_point> times{Clock::now()};
        for (const auto step : fed.epoch(epoch)) {
            if (done++ == steps) break;
            trainer.run();
            if ((step + 1) % every != 0 || ranks.rank() != 0) continue;
            times.push_back(Clock::now());
            const Seconds total = times.back() - times.front(), last = times.back() - times.end()[-2];
            std::printf("epoch: %ld, step:%ld, train_loss: %f, total time cost = %f, speed: %f\n", epoch,
                        step + 1, trainer.fetch_scalar(cost.loss), total.count(), every / last.count());
        }
    }
    const auto accuracy = tests.sum(right) / static_cast<double>(test.size());
    if (ranks.rank() != 0) return 0;
    std::printf("ranks: %d, steps: %ld, test accuracy: %.4f\n", ranks.size(), steps, accuracy);
    if (const auto& file = args.text("--save"); !file.empty())
        save_checkpoint(file, to_checkpoint(trainer.state(), {.step = steps, .seed = 1}));
    return 0;
}

int main(int argc, char** argv) {
    return run_main(argv[0], [&] { return train(argc, argv); });
}
