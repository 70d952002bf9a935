// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A user-defined network whose ranks are started by a plain program: ./linear_net [1|2|3|4 [STEPS]] runs the
// four forms of spawn() in Paddle's documents, with one step by default.
#include <cstdio>
#include <cstdlib>

#include <dtrain/nn.hpp>
#include <dtrain/spawn.hpp>

namespace nn = dtrain::nn;

class LinearNet : public nn::Layer {
  public:
    nn::Tensor forward(const nn::Tensor& x) override { return linear2_(linear1_(x)); }

  private:
    nn::Linear& linear1_ = add<nn::Linear>(10, 10);
    nn::Linear& linear2_ = add<nn::Linear>(10, 1);
};

void train(bool print_result, int steps) {
    // 1. This process becomes a rank.
    const dtrain::ParallelEnv env(0, nullptr);

    // 2. Layer and optimizer; the gradients are averaged over all ranks.
    LinearNet layer;
    nn::DataParallel dp_layer(layer, env.communicator());

    const nn::MSELoss loss_fn;
    nn::Optimizer adam(dtrain::Adam{.learning_rate = 0.001}, dp_layer.parameters());

    // 3. Training steps with this rank's own samples.
    for (int step = 0; step < steps; ++step) {
        const auto inputs = nn::randn({10, 10}, env.rank());
        const auto outputs = dp_layer(inputs);
        const auto labels = nn::randn({10, 1}, env.rank());
        const auto loss = loss_fn(outputs, labels);

        if (print_result) std::printf("loss: %.4f\n", loss.item());

        loss.backward();

        adam.step();
        adam.zero_grad();
    }
    if (!dp_layer.parameters_are_identical()) std::abort();
}

int main(int argc, char** argv) {
    const int form = argc > 1 ? std::atoi(argv[1]) : 3;
    const int steps = argc > 2 ? std::atoi(argv[2]) : 1;
    if (form == 1) dtrain::spawn([=] { train(false, steps); });    // every visible GPU, or core
    if (form == 2) dtrain::spawn(train, std::tuple(true, steps));  // with arguments
    if (form == 3) dtrain::spawn(train, std::tuple(true, steps), {.nprocs = 2});
    if (form == 4) dtrain::spawn(train, std::tuple(true, steps), {.nprocs = 2, .gpus = "4,5"});
}
