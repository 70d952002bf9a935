// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Steps per second of the documents' MLP in libtorch, data parallel over the ranks of mpirun, one thread per
// rank.
//   libtorch_step small|big averaging|gloo|alone      rank 0 prints steps per second
// averaging: by dtrain; gloo: libtorch's own reducer (the base of DistributedDataParallel) over gloo; alone:
// no communication.
#include <cstdio>
#include <functional>
#include <memory>
#include <unistd.h>

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/torch.h>

#include <dtrain/communicator.hpp>
#include <dtrain/data_parallel.hpp>

#include "mlp_sizes.hpp"
#include "steady_rate.hpp"

namespace {

using namespace dtrain;

torch::nn::Sequential model_of(const benchmarks::MlpSizes& sizes) {
    torch::nn::Sequential model;
    auto width = sizes.features;
    for (const auto size : sizes.hidden) {
        model->push_back(torch::nn::Linear(width, size));
        if (sizes.activation == "tanh")
            model->push_back(torch::nn::Tanh());
        else
            model->push_back(torch::nn::ReLU());
        width = size;
    }
    model->push_back(torch::nn::Linear(width, sizes.classes));
    return model;
}

std::span<float> memory_of(torch::Tensor tensor) {
    return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

/// Called after the backward pass.
using Exchange = std::function<void()>;

Exchange by_dtrain(std::vector<torch::Tensor>& parameters, const Communicator& world) {
    std::vector<ParameterBuffers> buffers;
    for (auto& each : parameters)
        buffers.push_back({std::to_string(buffers.size()), memory_of(each), memory_of(each.grad())});
    const auto averaging = std::make_shared<GradientAveraging>(world, buffers);
    auto hooked = std::make_shared<std::vector<std::shared_ptr<torch::autograd::Node>>>();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        hooked->push_back(torch::autograd::impl::grad_accumulator(parameters[i]));
        hooked->back()->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
            [averaging, i](const auto& outputs, const auto&) { return averaging->ready(i), outputs; }));
    }
    return [averaging, hooked] { averaging->finish(); };
}

Exchange by_gloo(const std::vector<torch::Tensor>& parameters, const Communicator& world) {
    const auto file = world.broadcast("/tmp/dtrain-libtorch-step." + std::to_string(::getpid()));
    auto settings = c10d::ProcessGroupGloo::Options::create();
    settings->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::FileStore>(file, world.size()), world.rank(), world.size(), settings);
    std::int64_t elements = 0;
    for (const auto& each : parameters) elements += each.numel();
    auto flat = torch::zeros({elements});
    const auto after = [parameters, flat, group, size = world.size()]() mutable {
        std::int64_t begin = 0;
        for (const auto& each : parameters) {
            flat.slice(0, begin, begin + each.numel()).copy_(each.grad().flatten());
            begin += each.numel();
        }
        std::vector<at::Tensor> tensors{flat};
        group->allreduce(tensors)->wait();
        flat.div_(size);
        begin = 0;
        for (const auto& each : parameters) {
            each.grad().copy_(flat.slice(0, begin, begin + each.numel()).view_as(each));
            begin += each.numel();
        }
    };
    return after;
}

void measure(const benchmarks::MlpSizes& sizes, const std::string& way, const Communicator& world) {
    torch::set_num_threads(1);
    torch::manual_seed(1);
    auto model = model_of(sizes);
    auto parameters = model->parameters();
    for (auto& each : parameters) each.mutable_grad() = torch::zeros_like(each);
    torch::optim::Adam optimizer(parameters, 1e-3);
    const Exchange exchange = way == "averaging" ? by_dtrain(parameters, world)
                              : way == "gloo"    ? by_gloo(parameters, world)
                                                 : Exchange([] {});
    const auto x = torch::rand({sizes.batch, sizes.features}) - 0.5;
    const auto label = torch::arange(sizes.batch) % sizes.classes;
    const auto step = [&] {
        for (auto& each : parameters) each.grad().zero_();
        const auto loss = torch::nn::functional::cross_entropy(model->forward(x), label);
        loss.backward();
        exchange();
        optimizer.step();
    };
    const auto rate = benchmarks::steady_rate(step, [&](double value) { return world.max(value); });
    if (world.rank() == 0) std::printf("%.1f\n", rate);
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const MpiSession mpi;
        measure(benchmarks::mlp_sizes(count > 1 ? arguments[1] : "small"),
                count > 2 ? arguments[2] : "averaging", mpi.world());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "libtorch_step: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
