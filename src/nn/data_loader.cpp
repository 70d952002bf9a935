// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <dtrain/nn_data.hpp>
#include <dtrain/sampler.hpp>

#include "base/ceil_div.hpp"
#include "base/text.hpp"
#include "nn/batches_of_epoch.hpp"
#include "nn/graph.hpp"

namespace dtrain::nn {
namespace {

std::int64_t checked_batches(const DataSource& source, const DataLoaderOptions& options, int ranks) {
    if (source.size() < 1) throw UsageError("DataLoader: there are no samples");
    if (options.batch_size < ranks)
        throw UsageError(
            fmt::format("DataLoader: batch_size is {}; a step needs {} at least, one for each rank",
                        options.batch_size, counted(ranks, "sample")));
    if (!options.sample.empty() && element_count(options.sample) != source.features())
        throw UsageError(fmt::format("DataLoader: a sample of shape {} has {} values, but the data have {}",
                                     to_string(options.sample), element_count(options.sample),
                                     source.features()));
    const auto batches =
        options.drop_last ? source.size() / options.batch_size : ceil_div(source.size(), options.batch_size);
    if (batches < 1)
        throw UsageError(
            fmt::format("DataLoader: drop_last leaves no batch: there are {} samples, and "
                        "batch_size is {}",
                        source.size(), options.batch_size));
    return batches;
}

}  // namespace

DataLoader::DataLoader(const DataSource& source, const DataLoaderOptions& options,
                       const Communicator& communicator)
    : source_(&source),
      options_(options),
      rank_(communicator.rank()),
      ranks_(communicator.size()),
      batches_(checked_batches(source, options, ranks_)) {}

DataLoader::Epoch DataLoader::operator()(std::int64_t epoch) const {
    if (options_.shuffle) return {*this, shuffled_order(source_->size(), options_.order_seed, epoch)};
    std::vector<std::int64_t> order(static_cast<std::size_t>(source_->size()));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    return {*this, std::move(order)};
}

std::vector<std::int64_t> DataLoader::samples(const std::vector<std::int64_t>& order,
                                              std::int64_t number) const {
    const auto first = number * options_.batch_size;
    const auto count = std::min(options_.batch_size, source_->size() - first);
    const auto rows = ceil_div(count, ranks_);
    std::vector<std::int64_t> samples;
    for (std::int64_t row = rank_ * rows; row < (rank_ + 1) * rows; ++row)
        samples.push_back(order[static_cast<std::size_t>(first + row % count)]);
    return samples;
}

DataLoader::Epoch::Epoch(const DataLoader& loader, std::vector<std::int64_t> order)
    : loader_(loader), order_(std::make_shared<const std::vector<std::int64_t>>(std::move(order))) {
    if (loader.source_->lookahead() > 0)
        ahead_ = std::make_shared<detail::BatchesOfEpoch>(
            *loader.source_, ceil_div(loader.options_.batch_size, loader.ranks_), loader.batches_,
            [loader, order = order_](std::int64_t number) { return loader.samples(*order, number); });
}

Batch DataLoader::Epoch::batch(std::int64_t number) const {
    const auto& source = *loader_.source_;
    const auto* gathered = ahead_ ? &ahead_->batch(number) : nullptr;
    const auto samples = gathered == nullptr ? loader_.samples(*order_, number) : std::vector<std::int64_t>{};
    const auto rows = gathered == nullptr ? std::ssize(samples) : std::ssize(gathered->labels);
    Shape shape{rows};
    if (const auto& sample = loader_.options_.sample; sample.empty())
        shape.push_back(source.features());
    else
        shape.insert(shape.end(), sample.begin(), sample.end());
    const auto x = eager::make_value(shape, DataType::float32);
    const auto y = eager::make_value({rows}, DataType::int64);
    const auto values = x.host_to_fill().as<float>();
    const auto labels = y.host_to_fill().as<std::int64_t>();
    if (gathered != nullptr) {
        std::ranges::copy(gathered->x, values.begin());
        std::ranges::copy(gathered->labels, labels.begin());
    } else {
        source.gather(samples, values, labels);
    }
    return {number, Tensor({x, {}}), Tensor({y, {}})};
}

}  // namespace dtrain::nn
