// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Handwritten digits with the network of Paddle's documents, line by line, on one rank: ./digits digits.h5.
// digits_ranks.cpp is the same for many ranks; `diff digits.cpp digits_ranks.cpp` shows what changes.
#include <exception>
#include <iostream>

#include <dtrain/nn.hpp>

namespace nn = dtrain::nn;

int main(int argc, char** argv) try {
    const dtrain::ParallelEnv env(argc, argv);
    // The data sets
    const std::string file = argc > 1 ? argv[1] : "digits.h5";
    const auto train =
        dtrain::Dataset::read({.file = file, .x = "train/x", .y = "train/y", .scale = 1.0F / 16});
    const auto test = dtrain::Dataset::read({.file = file, .x = "test/x", .y = "test/y", .scale = 1.0F / 16});

    // The network
    nn::Sequential mnist{nn::Flatten(1, -1), nn::Linear(64, 512), nn::ReLU(), nn::Dropout(0.2),
                         nn::Linear(512, 10)};

    // Batches of samples
    const nn::DataLoaderOptions batches{.batch_size = 32, .shuffle = true, .sample = {8, 8}};
    const nn::DataLoader train_loader(train, batches, env.communicator());

    const nn::DataParallel parallel(mnist, env.communicator());
    mnist.train();
    const int epochs = 5;
    nn::Optimizer optim(dtrain::Adam{}, mnist.parameters());

    for (int epoch = 0; epoch < epochs; ++epoch) {
        for (const auto& [batch_id, x_data, y_data] : train_loader(epoch)) {
            const auto predicts = mnist(x_data);
            const auto loss = nn::cross_entropy(predicts, y_data);
            const auto acc = nn::accuracy(predicts, y_data);

            loss.backward();
            if ((batch_id + 1) % 22 == 0)
                std::cout << "epoch: " << epoch << ", batch_id: " << batch_id << ", loss is: " << loss.item()
                          << ", acc is: " << acc.item() << std::endl;
            optim.step();
            optim.zero_grad();
        }
    }

    mnist.eval();
    const nn::NoGrad no_grad;
    for (const auto& [batch_id, x_data, y_data] : nn::DataLoader(test, {.batch_size = test.size()})(0))
        std::cout << "test acc is: " << nn::accuracy(mnist(x_data), y_data).item() << std::endl;
} catch (const std::exception& error) {
    std::cerr << "digits: " << error.what() << std::endl;
    return 2;
}
