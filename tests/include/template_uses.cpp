// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Compiled only, with the warnings of a careful user: templates warn when they are used, and options when
// some of their fields are named.
#include <dtrain/communicator.hpp>
#include <dtrain/dataset.hpp>
#include <dtrain/element_span.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/model.hpp>
#include <dtrain/nn.hpp>
#include <dtrain/parameter_servers.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/sampler.hpp>
#include <dtrain/spawn.hpp>
#include <dtrain/transpiler.hpp>

namespace dtrain_headers {

void sums(const dtrain::Communicator& ranks, std::span<float> out, std::span<const float> in);
void sums(const dtrain::Communicator& ranks, std::span<float> out, std::span<const float> in) {
    ranks.allreduce(out);
    ranks.start_allreduce(out, dtrain::Reduction::max).wait();
    ranks.reduce_scatter(in, out);
    ranks.start_reduce_scatter(in, out).wait();
    ranks.reduce_shards(out, [](std::size_t, std::span<float>) {});
    static_cast<void>(ranks.shard<float>(in.size()));
}

void elements(std::span<dtrain::bfloat16> halves);
void elements(std::span<dtrain::bfloat16> halves) {
    const dtrain::ElementSpan seen(halves);
    static_cast<void>(seen.first(1).as<dtrain::bfloat16>());
}

void moves(const dtrain::Communicator& ranks, std::span<double> out, std::span<const double> in,
           std::span<const std::size_t> counts);
void moves(const dtrain::Communicator& ranks, std::span<double> out, std::span<const double> in,
           std::span<const std::size_t> counts) {
    ranks.all_gather(in, out);
    ranks.start_all_gather(in, out).wait();
    ranks.all_to_all(in, out);
    ranks.start_all_to_all(in, out).wait();
    ranks.all_to_allv(in, counts, out, counts);
    ranks.send(in, 1);
    ranks.receive(out, 0);
    ranks.broadcast(out);
    static_cast<void>(ranks.allocate(8).as<double>());
    static_cast<void>(ranks.allocate(8).of_rank_as<double>(0));
}

void options(dtrain::Executor& executor);
void options(dtrain::Executor& executor) {
    static_cast<void>(executor.feed<float>("x"));
    static_cast<void>(executor.fetch("x"));
    static_cast<void>(executor.fetch_scalar("x"));
    static_cast<void>(dtrain::DatasetSource{.file = "a.csv"});
    static_cast<void>(dtrain::DataParallelOptions{.ranks = 2});
    static_cast<void>(dtrain::DistributedSampler::Options{.samples = 2});
    static_cast<void>(dtrain::ExecutorOptions{.threads = 1});
    static_cast<void>(dtrain::FitOptions{.epochs = 1});
    static_cast<void>(dtrain::ModelOptions{.virtual_ranks = 1});
    static_cast<void>(dtrain::OptimizerOptions{.clipping = dtrain::ClipByNorm{}});
    static_cast<void>(dtrain::ServerJobOptions{.mode = {}});
    static_cast<void>(dtrain::TranspileOptions{.trainers = 2});
    static_cast<void>(dtrain::Operator{.type = "relu"});
    static_cast<void>(dtrain::Variable{.name = "x", .shape = {1}});
    static_cast<void>(dtrain::layers::FcOptions{.activation = "tanh"});
    static_cast<void>(dtrain::layers::EmbeddingOptions{.is_sparse = true});
}

void line_by_line(dtrain::nn::Layer& layer, const std::vector<float>& numbers);
void line_by_line(dtrain::nn::Layer& layer, const std::vector<float>& numbers) {
    namespace nn = dtrain::nn;
    const auto x = nn::Tensor::of(numbers, {1, 1, 8, 8});
    nn::Sequential net{nn::Conv2d(1, 2, {3, 5}, 1, 2, {.name = "conv"}),
                       nn::MaxPool2d({2, 3}),
                       nn::AvgPool2d(2, {1, 2}),
                       nn::LayerNorm({2, 3}),
                       nn::Embedding(3, 2, {.padding_idx = 0}),
                       nn::Linear(2, 2, {.type = dtrain::DataType::float64})};
    net.parameters().front().set_values(numbers);
    static_cast<void>(nn::cross_entropy(layer(x), x, {.use_softmax = false}).item());
    static_cast<void>(nn::DataLoaderOptions{.batch_size = 2});
    static_cast<void>(nn::DataParallelOptions{.every_backward = true});
}

void ranks_of_its_own();
void ranks_of_its_own() {
    const auto results = dtrain::spawn([](int a, const std::string& b) { return b.size() + std::size_t(a); },
                                       std::tuple(1, std::string("b")), {.nprocs = 2})
                             .results();
    static_cast<void>(results);
    dtrain::spawn([] {}, {.gpus = "0"});
}

}  // namespace dtrain_headers
