// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Handwritten digits with dtrain::Model. The same program runs on one rank (./digits digits.h5) and on many
// (mpirun -np 2 ./digits digits.h5): with virtual_ranks both train to the same bits.
#include <cstdio>
#include <exception>

#include <dtrain/layers.hpp>
#include <dtrain/model.hpp>
#include <dtrain/parallel_env.hpp>

using namespace dtrain;

int main(int argc, char** argv) try {
    const ParallelEnv env(argc, argv);
    const std::string file = argc > 1 ? argv[1] : "digits.h5";
    const auto train = Dataset::read({.file = file, .x = "train/x", .y = "train/y", .scale = 1.0F / 16});
    const auto test = Dataset::read({.file = file, .x = "test/x", .y = "test/y", .scale = 1.0F / 16});

    Model model(
        [](Program& program, const Var& x) {
            return layers::fc(program, layers::fc(program, x, 128, {.activation = "relu"}), 10);
        },
        {"x", {64}}, {"label", {}, DataType::int64},
        {.communicator = env.communicator(), .virtual_ranks = 4});
    model.prepare(Adam{0.002}, CrossEntropyLoss{}, {Accuracy{}});

    const auto lines = std::make_shared<EpochLines>();
    const auto stop = std::make_shared<EarlyStop>(EarlyStop::Options{.patience = 3});
    model.fit(train, {.eval = test, .epochs = 20, .batch_size = 64, .callbacks = {lines, stop}});
    model.save("digits-model.h5");

    const Metrics metrics = model.evaluate(test);
    if (env.rank() == 0)
        std::printf("test loss %.4f, accuracy %.4f of %d samples\n", metrics.loss,
                    metrics.metrics.at("accuracy"), static_cast<int>(metrics.samples));
    if (env.rank() == 0)
        std::printf("ranks %d, parameters %016llx\n", env.world_size(),
                    static_cast<unsigned long long>(parameters_checksum(model.state())));
} catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 2;
}
