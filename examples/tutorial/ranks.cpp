// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// The result of docs/tutorial.md: any number of ranks. mpirun -np 2 ./ranks digits.h5 [EPOCHS] [--resume]
#include <algorithm>
#include <cstdio>
#include <exception>

#include <dtrain/layers.hpp>
#include <dtrain/model.hpp>
#include <dtrain/parallel_env.hpp>

using namespace dtrain;

int main(int argc, char** argv) try {
    const ParallelEnv env(argc, argv);
    const std::string file = argc > 1 ? argv[1] : "digits.h5";
    const std::int64_t epochs = argc > 2 ? std::stoll(argv[2]) : 5;
    const bool resume = argc > 3 && std::string(argv[3]) == "--resume";
    const auto train = Dataset::read({.file = file, .x = "train/x", .y = "train/y", .scale = 1.0F / 16});
    const auto test = Dataset::read({.file = file, .x = "test/x", .y = "test/y", .scale = 1.0F / 16});

    Model model(
        [](Program& program, const Var& x) {
            return layers::fc(program, layers::fc(program, x, 128, {.activation = "relu"}), 10);
        },
        {"x", {64}}, {"label", {}, DataType::int64},  //
        {.communicator = env.communicator(), .virtual_ranks = 8});
    model.prepare(Adam{0.002}, CrossEntropyLoss{}, {Accuracy{}});
    if (resume) model.load_newest("checkpoints");

    const auto lines = std::make_shared<EpochLines>();
    const auto checkpoints = std::make_shared<Checkpoints>("checkpoints");
    model.fit(train, {.eval = test,
                      .epochs = std::max(epochs - model.epochs_done(), std::int64_t{0}),
                      .batch_size = 64,
                      .callbacks = {lines, checkpoints}});
} catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 2;
}
