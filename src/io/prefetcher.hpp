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

#include "io/batches_ahead.hpp"

namespace dtrain::io {

/// What a step needs on this rank.
struct PreparedBatch {
    std::vector<float> x;  ///< rows of features() values, as many as LocalBatch has samples
    std::vector<std::int64_t> labels;
    std::vector<float> weights;
};

/// Which samples a batch has. Called by the thread alone, but for start_epoch().
struct BatchOrder {
    std::int64_t rows = 0;     ///< of the largest batch
    std::int64_t batches = 0;  ///< of an epoch
    std::function<void(std::int64_t epoch)> start_epoch;
    /// Good until the next call; without weights they stay zero.
    std::function<LocalBatch(std::int64_t number)> batch;
};

/// Gathers the mini-batches of an epoch in a thread of its own, some steps ahead of the one that runs.
/// Buffers are made once. next() is for one thread.
class Prefetcher {
  public:
    /// @param depth batches that may be ready
    Prefetcher(std::shared_ptr<const DataSource> data, const DistributedSampler& sampler,
               std::size_t depth = 3);
    Prefetcher(std::shared_ptr<const DataSource> data, BatchOrder order, std::size_t depth = 3);

    /// Begins with a step of an epoch; what was prepared for another one is forgotten.
    void start(std::int64_t epoch, std::int64_t first_step);

    /// The next step's batch, good until the next call of next() or start().
    /// @throws what gathering threw; Error when the epoch has no more steps.
    const PreparedBatch& next();

  private:
    void prepare(std::int64_t step);
    void announce(std::int64_t step);

    std::shared_ptr<const DataSource> data_;
    std::vector<PreparedBatch> ring_;
    // Of the thread alone, but for start().
    BatchOrder order_;
    std::vector<std::int64_t> announced_;
    std::int64_t announced_until_ = 0;
    BatchesAhead batches_;
};

}  // namespace dtrain::io
