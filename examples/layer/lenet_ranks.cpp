// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Handwritten digits with a LeNet for their 8x8 images, line by line, on one rank: ./lenet digits.h5.
// lenet_ranks.cpp is the same for many ranks; `diff lenet.cpp lenet_ranks.cpp` shows what changes.
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
    nn::Sequential lenet{nn::Conv2d(1, 6, 3, 1, 1),
                         nn::ReLU(),
                         nn::MaxPool2d(2, 2),
                         nn::Conv2d(6, 16, 3, 1, 1),
                         nn::ReLU(),
                         nn::MaxPool2d(2, 2),
                         nn::Flatten(),
                         nn::Linear(64, 120),
                         nn::ReLU(),
                         nn::Linear(120, 84),
                         nn::ReLU(),
                         nn::Linear(84, 10)};

    // Batches of samples
    const nn::DataLoaderOptions batches{.batch_size = 32, .shuffle = true, .sample = {1, 8, 8}};
    const nn::DataLoader train_loader(train, batches, env.communicator());

    const nn::DataParallel parallel(lenet, env.communicator());
    lenet.train();
    const int epochs = 10;
    nn::Optimizer optim(dtrain::Adam{0.003}, lenet.parameters());

    for (int epoch = 0; epoch < epochs; ++epoch) {
        for (const auto& [batch_id, x_data, y_data] : train_loader(epoch)) {
            const auto predicts = lenet(x_data);
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

    lenet.eval();
    const nn::NoGrad no_grad;
    const nn::DataLoader test_loader(test, {.batch_size = test.size(), .sample = {1, 8, 8}});
    for (const auto& [batch_id, x_data, y_data] : test_loader(0))
        std::cout << "test acc is: " << nn::accuracy(lenet(x_data), y_data).item() << std::endl;
} catch (const std::exception& error) {
    std::cerr << "lenet: " << error.what() << std::endl;
    return 2;
}
