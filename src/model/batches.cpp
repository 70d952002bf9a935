// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <dtrain/batches.hpp>
#include <dtrain/error.hpp>

namespace dtrain {
namespace {

DistributedSampler::Options sampling(const DataSource& source, std::int64_t batch, const Communicator& ranks,
                                     const BatchesOptions& options) {
    if (options.last_batch == LastBatch::uneven)
        throw UsageError(
            "Batches: LastBatch::uneven needs a batch of another size, and the program's is fixed");
    return {.samples = source.size(),
            .global_batch = batch * ranks.size(),
            .rank = ranks.rank(),
            .ranks = ranks.size(),
            .seed = options.seed,
            .order = options.order,
            .last_batch = options.last_batch};
}

}  // namespace

Batches::Batches(Executor& executor, const DataSource& source, const Communicator& ranks,
                 const BatchesOptions& options)
    : executor_(&executor),
      source_(&source),
      ranks_(ranks),
      labels_(executor.feed<std::int64_t>(options.label)),
      x_(executor.feed<float>(options.x)),
      sampler_(sampling(source, std::ssize(labels_), ranks, options)) {
    if (!options.weight.empty()) weights_ = executor.feed<float>(options.weight);
    const auto expected = std::ssize(labels_) * source.features();
    if (std::ssize(x_) != expected)
        throw UsageError(
            fmt::format("Batches: '{}' has {} values, expected {}: {} labels, and samples of {} values",
                        options.x.name(), x_.size(), expected, labels_.size(), source.features()));
    if (!weights_.empty() && weights_.size() != labels_.size())
        throw UsageError(fmt::format("Batches: '{}' has {} values, expected one for each of {} labels",
                                     options.weight.name(), weights_.size(), labels_.size()));
}

Batches::Epoch Batches::epoch(std::int64_t number) {
    sampler_.start_epoch(number);
    return Epoch(*this);
}

double Batches::sum(const Var& scalar) {
    double sum = 0;
    const auto all = epoch(0);
    for (auto step = all.begin(); step != all.end(); ++step) {
        static_cast<void>(*step);
        executor_->run();
        sum += static_cast<double>(executor_->fetch_scalar(scalar));
    }
    return ranks_.sum(sum);
}

void Batches::feed(std::int64_t step) {
    const auto batch = sampler_.batch(step);
    source_->gather(batch.samples, x_, labels_);
    if (!weights_.empty()) std::ranges::copy(batch.weights, weights_.begin());
}

}  // namespace dtrain
