// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Steps per second of the documents' MLP, data parallel over the ranks of mpirun, one thread per rank.
//   mlp_step small|big      rank 0 prints steps per second
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <dtrain/communicator.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "mlp_sizes.hpp"
#include "steady_rate.hpp"

namespace {

using namespace dtrain;

void measure(const benchmarks::MlpSizes& sizes, const Communicator& world) {
    Program program;
    auto x = layers::data(program, "x", {sizes.batch, sizes.features});
    const auto label = layers::data(program, "label", {sizes.batch}, DataType::int64);
    for (const auto size : sizes.hidden) x = layers::fc(program, x, size, {sizes.activation});
    const auto logits = layers::fc(program, x, sizes.classes);
    minimize(program, layers::softmax_with_cross_entropy(program, logits, label).loss, Adam{});
    Executor executor(data_parallel(program, {world.size()}), State(program, 1), world, {.threads = 1});
    const auto values = executor.feed<float>("x");
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(world.rank())) % 11) * 0.1F - 0.5F;
    const auto labels = executor.feed<std::int64_t>("label");
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i) % sizes.classes;
    const auto rate =
        benchmarks::steady_rate([&] { executor.run(); }, [&](double value) { return world.max(value); });
    if (world.rank() == 0) std::printf("%.1f\n", rate);
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const MpiSession mpi;
        measure(benchmarks::mlp_sizes(count > 1 ? arguments[1] : "small"), mpi.world());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mlp_step: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
