// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A libtorch network, trained by all ranks together. What makes it parallel is marked with "dtrain".
#include <cstdio>

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/torch.h>

#include <dtrain/communicator.hpp>   // dtrain
#include <dtrain/data_parallel.hpp>  // dtrain

std::span<float> memory_of(torch::Tensor tensor) {
    return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

int main() {
    const dtrain::MpiSession mpi;  // dtrain
    const auto& world = mpi.world();
    torch::set_num_threads(1);
    torch::manual_seed(world.rank());
    torch::nn::Sequential model(torch::nn::Linear(784, 128), torch::nn::Tanh(), torch::nn::Linear(128, 128),
                                torch::nn::Tanh(), torch::nn::Linear(128, 10));
    torch::optim::Adam optimizer(model->parameters(), 1e-3);

    std::vector<dtrain::ParameterBuffers> buffers;  // dtrain: where values and gradients are
    auto parameters = model->parameters();
    for (auto& each : parameters) {
        each.mutable_grad() = torch::zeros_like(each);
        buffers.push_back({std::to_string(buffers.size()), memory_of(each), memory_of(each.grad())});
    }
    dtrain::GradientAveraging averaging(world, buffers);  // dtrain
    std::vector<std::shared_ptr<torch::autograd::Node>> hooked;
    for (std::size_t i = 0; i < parameters.size(); ++i) {  // dtrain: called when a gradient is ready
        hooked.push_back(torch::autograd::impl::grad_accumulator(parameters[i]));
        hooked.back()->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
            [&averaging, i](const auto& outputs, const auto&) { return averaging.ready(i), outputs; }));
    }

    for (int step = 0; step < 200; ++step) {
        const auto x = torch::rand({64, 784});
        const auto label = (x.slice(1, 0, 10)).argmax(1);  // the target: the largest of the first ten
        for (auto& each : parameters) each.grad().zero_();
        const auto loss = torch::nn::functional::cross_entropy(model->forward(x), label);
        loss.backward();
        averaging.finish();  // dtrain
        optimizer.step();
        if (step % 50 == 49 && world.rank() == 0)
            std::printf("step %d loss %.4f\n", step + 1, loss.item<float>());
    }
    const bool same = averaging.values_are_identical();
    if (world.rank() == 0)
        std::printf("ranks %d, parameters %s\n", world.size(), same ? "identical" : "differ");
}
