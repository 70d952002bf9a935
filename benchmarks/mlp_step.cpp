// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Steps per second of the documents' MLP, data parallel over the ranks of mpirun, one thread per rank.
//   mlp_step small|big|deep [WAY]      rank 0 prints steps per second
// WAY is one of:
//   one-copy     one copy of the parameters for all ranks (default)
//   overlap      communication overlaps with computation
//   blocking     no overlap
//   compute      no communication
//   communicate  communication only
//   bfloat16     one-copy with products in bfloat16
//   own-threads  one-copy with as many threads as MpiSession gives a rank
//   virtual-1, virtual-2, virtual-4   each rank's batch is split among this many virtual ranks
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "mlp_sizes.hpp"
#include "steady_rate.hpp"

namespace {

using namespace dtrain;

Program mlp(const benchmarks::MlpSizes& sizes, int parts = 1) {
    Program program;
    auto x = layers::data(program, "x", {sizes.batch / parts, sizes.features});
    const auto label = layers::data(program, "label", {sizes.batch / parts}, DataType::int64);
    for (const auto size : sizes.hidden) x = layers::fc(program, x, size, {sizes.activation});
    const auto logits = layers::fc(program, x, sizes.classes);
    minimize(program, layers::softmax_with_cross_entropy(program, logits, label).loss, Adam{});
    return program;
}

void feed(Executor& executor, int rank, std::int64_t classes) {
    const auto values = executor.feed<float>("x");
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(rank)) % 11) * 0.1F - 0.5F;
    const auto labels = executor.feed<std::int64_t>("label");
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i) % classes;
}

std::int64_t parameters_of(const Program& program) {
    std::int64_t count = 0;
    for (const auto& variable : program.variables())
        if (variable.role == Role::parameter) count += element_count(variable.shape);
    return count;
}

double rate_with_virtual_ranks(int each, const benchmarks::MlpSizes& sizes, const Communicator& world) {
    const auto program = with_virtual_ranks(mlp(sizes, each), each * world.size());
    Executor executor(program, State(program, 1), world, {.threads = 1});
    feed(executor, world.rank(), sizes.classes);
    const auto step = [&] {
        for (int batch = 0; batch < each; ++batch) executor.accumulate();
        executor.update();
    };
    return benchmarks::steady_rate(step, [&](double value) { return world.max(value); });
}

double rate_of(const std::string& way, const benchmarks::MlpSizes& sizes, const Communicator& world) {
    const auto agree = [&](double value) { return world.max(value); };
    const auto program = mlp(sizes);
    if (way == "communicate") {
        std::vector<float> gradients(static_cast<std::size_t>(parameters_of(program)));
        return benchmarks::steady_rate([&] { world.allreduce_sum(std::span(gradients)); }, agree);
    }
    if (way == "virtual-1" || way == "virtual-2" || way == "virtual-4")
        return rate_with_virtual_ranks(way.back() - '0', sizes, world);
    if (way != "one-copy" && way != "own-threads" && way != "bfloat16" && way != "overlap" &&
        way != "blocking" && way != "compute")
        throw std::invalid_argument(
            "WAY is one-copy, own-threads, bfloat16, overlap, blocking, compute, communicate or virtual-1, "
            "-2, -4, not '" +
            way + "'");
    const bool rounds = way == "bfloat16";
    const bool one_copy = way == "one-copy" || way == "own-threads" || rounds;
    const int ranks = way == "compute" ? 1 : world.size();
    const auto parallel = data_parallel(program, {.ranks = ranks, .one_copy = one_copy});
    const auto communicator = ranks == 1 ? Communicator() : world;
    Executor executor(parallel, one_copy ? State(parallel, 1, communicator) : State(parallel, 1),
                      communicator,
                      {.threads = way == "own-threads" ? 0 : 1,
                       .overlap = way == "overlap",
                       .products = rounds ? ComputeType::bfloat16 : ComputeType::float32});
    feed(executor, world.rank(), sizes.classes);
    return benchmarks::steady_rate([&] { executor.run(); }, agree);
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const MpiSession mpi;
        const auto rate = rate_of(count > 2 ? arguments[2] : "one-copy",
                                  benchmarks::mlp_sizes(count > 1 ? arguments[1] : "small"), mpi.world());
        if (mpi.world().rank() == 0) std::printf("%.2f\n", rate);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mlp_step: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
