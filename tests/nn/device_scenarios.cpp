// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// What test_devices.cpp looks at, in a process of its own, for each has one device. Words of the command line
// are done in turn; an error ends it with its type and text.
#include <exception>
#include <iostream>
#include <string>

#include <fmt/format.h>

#include <dtrain/nn.hpp>

#include "digit_like.hpp"

namespace dtrain::nn {
namespace {

struct Training {
    Sequential network{Linear(16, 32), ReLU(), Dropout(0.2), Linear(32, 4)};
    Optimizer adam{Adam{0.01}, network.parameters()};

    void run(int epochs) {
        const auto data = digit_like(40);
        const DataLoader loader(data, {.batch_size = 20});
        for (int epoch = 0; epoch < epochs; ++epoch)
            for (const auto& [id, x, y] : loader(epoch)) {
                const auto loss = cross_entropy(network(x), y);
                loss.backward();
                adam.step();
                adam.zero_grad();
                if (epoch + 1 == epochs && id == 1) fmt::print("loss {}\n", loss.item());
            }
    }

    void print() const {
        for (const auto& parameter : network.parameters())
            for (const auto value : parameter.values()) fmt::print("{} ", value);
        fmt::print("\n");
    }
};

void run(int argc, char** argv) {
    std::optional<Training> training;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto value = word.substr(word.find('=') + 1);
        if (word.starts_with("set="))
            set_device(device_of(value, "the test"));
        else if (word == "tensor")
            static_cast<void>(Tensor::full({1}, 1));
        else if (word == "network")
            training.emplace();
        else if (word == "device")
            fmt::print("{}\n", to_string(get_device()));
        else if (word.starts_with("train="))
            training->run(std::stoi(value));
        else if (word.starts_with("save="))
            save(value, training->network, &training->adam);
        else if (word.starts_with("load="))
            load(value, training->network, &training->adam);
        else if (word == "print")
            training->print();
        else
            throw Error("what is " + word + "?");
    }
}

}  // namespace
}  // namespace dtrain::nn

int main(int argc, char** argv) {
    try {
        dtrain::nn::run(argc, argv);
    } catch (const dtrain::nn::DeviceChosenError& error) {
        fmt::print("DeviceChosenError {} {}: {}\n", to_string(error.chosen()), to_string(error.asked()),
                   error.what());
    } catch (const dtrain::UsageError& error) {
        fmt::print("UsageError: {}\n", error.what());
    } catch (const std::exception& error) {
        fmt::print("another error: {}\n", error.what());
    }
}
