// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Steps per second of the documents' MLP on one GPU, and of its matrix products alone.
//   gpu_step small|big|deep float32|bfloat16|float16|products      exit status 77 if there is no GPU
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>

#include "kernels/gpu.hpp"
#include "mlp_sizes.hpp"
#include "steady_rate.hpp"

namespace {

using namespace dtrain;

constexpr int no_gpu = 77;

double alone(double value) {
    return value;
}

ComputeType numbers_of(std::string_view way) {
    if (way == "float32") return ComputeType::float32;
    if (way == "bfloat16") return ComputeType::bfloat16;
    if (way == "float16") return ComputeType::float16;
    throw std::invalid_argument("WAY is float32, bfloat16, float16 or products, not '" + std::string(way) +
                                "'");
}

/// Each step is fed its batch again, as in training. At most two steps are in flight.
double rate_of_training(const benchmarks::MlpSizes& sizes, ComputeType numbers) {
    Program program;
    auto x = layers::data(program, "x", {sizes.batch, sizes.features});
    const auto label = layers::data(program, "label", {sizes.batch}, DataType::int64);
    for (const auto size : sizes.hidden) x = layers::fc(program, x, size, {sizes.activation});
    const auto logits = layers::fc(program, x, sizes.classes);
    const auto loss = layers::softmax_with_cross_entropy(program, logits, label).loss;
    minimize(program, loss, Adam{});
    Executor executor(program, State(program, 1), {}, {.device = Device::gpu(), .products = numbers});
    const auto values = executor.feed<float>("x");
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 11) * 0.1F - 0.5F;
    const auto rate = benchmarks::steady_rate([&] { executor.run(); }, alone);
    executor.fetch_scalar(loss);
    return rate;
}

/// The matrix products of a step on zero-filled memory: forward, with respect to the weights, and, except for
/// the first layer, with respect to the inputs.
class Products {
  public:
    Products(std::shared_ptr<kernels::Gpu> gpu, const benchmarks::MlpSizes& sizes) : gpu_(std::move(gpu)) {
        auto widths = sizes.hidden;
        widths.push_back(sizes.classes);
        auto in = sizes.features;
        for (const auto out : widths) {
            const auto x = tensor({sizes.batch, in}), y = tensor({sizes.batch, out}),
                       weight = tensor({in, out});
            add(x, weight, y, false, false);
            add(x, y, weight, true, false);
            if (in != sizes.features) add(y, weight, x, false, true);
            in = out;
        }
        all_ = gpu_->captured([this] {
            for (const auto& product : products_) product->run();
        });
    }

    void run() { all_->run(); }

  private:
    TensorView tensor(const Shape& shape) {
        TensorView view{nullptr, shape};
        memory_.push_back(gpu_->allocate(view.bytes()));
        view.data = memory_.back().get();
        return view;
    }

    void add(const TensorView& a, const TensorView& b, const TensorView& out, bool transpose_a,
             bool transpose_b) {
        products_.push_back(gpu_->make_kernel("matmul", {{{"x", a}, {"y", b}},
                                                         {{"out", out}},
                                                         {{"transpose_x", std::int64_t{transpose_a}},
                                                          {"transpose_y", std::int64_t{transpose_b}}}}));
    }

    std::shared_ptr<kernels::Gpu> gpu_;
    std::vector<kernels::Gpu::Memory> memory_;
    std::vector<std::unique_ptr<kernels::Kernel>> products_;
    std::unique_ptr<kernels::Kernel> all_;
};

double rate_of_products(const benchmarks::MlpSizes& sizes) {
    constexpr int together = 64;  // waiting takes as long as a small step
    const auto gpu = kernels::open_gpu(0);
    Products products(gpu, sizes);
    return together * benchmarks::steady_rate(
                          [&] {
                              for (int i = 0; i < together; ++i) products.run();
                              gpu->finish();
                          },
                          alone);
}

}  // namespace

int main(int count, char** arguments) {
    try {
        try {
            kernels::open_gpu(0);
        } catch (const UsageError& error) {
            std::fprintf(stderr, "%s\n", error.what());
            return no_gpu;
        }
        const auto sizes = benchmarks::mlp_sizes(count > 1 ? arguments[1] : "small");
        const std::string_view way = count > 2 ? arguments[2] : "float32";
        std::printf("%.2f\n",
                    way == "products" ? rate_of_products(sizes) : rate_of_training(sizes, numbers_of(way)));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gpu_step: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
