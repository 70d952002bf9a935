// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <dtrain/sampler.hpp>

#include "io/batches_ahead.hpp"
#include "io/click_cache_file.hpp"

namespace dtrain::io {

/// What a step needs on this rank. As in ClickLog::gather().
struct ClickBatch {
    std::span<const float> dense;
    std::span<const std::int64_t> ids;
    std::span<const float> labels;
    std::span<const float> weights;
};

/// The mini-batches of an epoch, from a cache on disk. While the batches of one half of the memory are taken,
/// a thread fills the other half: in the order of the file, each block once.
class ClickBatches {
  public:
    /// Puts something else in the place of ids. Called by the thread.
    using Translate = std::function<void(std::span<std::int64_t>)>;

    /// @param memory bytes for batches, and for finding their places in the file; of two batches at least
    /// @param translate may be none
    ClickBatches(std::shared_ptr<const ClickCacheFile> cache, const DistributedSampler::Options& sampling,
                 std::int64_t memory, Translate translate);

    /// Begins with a batch of an epoch; what was prepared for another one is forgotten.
    void start(std::int64_t epoch, std::int64_t first_batch);

    /// Good until the next call of next() or start().
    /// @throws DamagedCache, std::system_error; Error when the epoch has no more
    ClickBatch next();

    /// What next() will return; none at the end of an epoch. Good until the call of next() after the next
    /// one, or start().
    std::optional<ClickBatch> await_next();

    /// Batches that are read together.
    std::int64_t batches_at_once() const { return at_once_; }

  private:
    struct Place {
        std::int64_t sample;
        std::int64_t row;  ///< of the batches' memory
    };

    std::int64_t batches_of_half(std::int64_t memory) const;
    void prepare(std::int64_t first, std::int64_t count);
    void copy(const ClickBlock& block, std::span<const Place> places);
    ClickBatch in_place(std::int64_t place) const;

    std::shared_ptr<const ClickCacheFile> cache_;
    Translate translate_;
    DistributedSampler sampler_;  ///< of the thread alone, but for start()
    std::int64_t at_once_;
    // Of all places, one batch behind the other.
    std::vector<float> dense_;
    std::vector<std::int64_t> ids_;
    std::vector<float> labels_;
    std::vector<float> weights_;
    // Of the thread alone.
    std::vector<Place> order_;
    ClickBlock block_;
    BatchesAhead batches_;
};

}  // namespace dtrain::io
