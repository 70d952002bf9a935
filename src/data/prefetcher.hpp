// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <dtrain/dataset.hpp>
#include <dtrain/sampler.hpp>

#include "data/batches_ahead.hpp"

namespace dtrain::data {

/// A batch for one step on this rank.
struct PreparedBatch {
    std::vector<float> x;  ///< rows of features() values, as many as LocalBatch has samples
    std::vector<std::int64_t> labels;
    std::vector<float> weights;
};

/// The samples of each batch. Used only by the thread, except start_epoch().
struct BatchOrder {
    std::int64_t rows = 0;     ///< samples in the largest batch
    std::int64_t batches = 0;  ///< number of batches per epoch
    std::function<void(std::int64_t epoch)> start_epoch;
    /// Valid until the next call; if it has no weights, they stay zero.
    std::function<LocalBatch(std::int64_t number)> batch;
};

/// Gathers the mini-batches of an epoch in its own thread, some steps ahead of training. Buffers are
/// allocated once. next() must be called by one thread.
class Prefetcher {
  public:
    /// @param depth maximum number of prepared batches
    Prefetcher(std::shared_ptr<const DataSource> data, const DistributedSampler& sampler,
               std::size_t depth = 3);
    Prefetcher(std::shared_ptr<const DataSource> data, BatchOrder order, std::size_t depth = 3);

    /// Starts at a step of an epoch; discards what was prepared for another one.
    void start(std::int64_t epoch, std::int64_t first_step);

    /// The next step's batch, valid until the next call of next() or start().
    /// @throws what gathering threw; Error if the epoch has no more steps
    const PreparedBatch& next();

  private:
    void prepare(std::int64_t step);
    void announce(std::int64_t step);

    std::shared_ptr<const DataSource> data_;
    std::vector<PreparedBatch> ring_;
    // Used only by the thread, except in start().
    BatchOrder order_;
    std::vector<std::int64_t> announced_;
    std::int64_t announced_until_ = 0;
    BatchesAhead batches_;
};

}  // namespace dtrain::data
