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

#include "data/batches_ahead.hpp"
#include "data/click_cache_file.hpp"

namespace dtrain::data {

/// A batch for one step on this rank, with the layout of ClickLog::gather().
struct ClickBatch {
    std::span<const float> dense;
    std::span<const std::int64_t> ids;
    std::span<const float> labels;
    std::span<const float> weights;
};

/// The mini-batches of an epoch, read from a cache on disk. While the batches in one half of the memory are
/// consumed, a thread fills the other half, reading blocks in file order, each once.
class ClickBatches {
  public:
    /// Replaces the ids in place. Called by the thread.
    using Translate = std::function<void(std::span<std::int64_t>)>;

    /// @param memory limit in bytes for batches and for sorting their samples by file offset; at least two
    /// batches are held in any case
    /// @param translate may be empty
    ClickBatches(std::shared_ptr<const ClickCacheFile> cache, const DistributedSampler::Options& sampling,
                 std::int64_t memory, Translate translate);

    /// Starts at a batch of an epoch; discards what was prepared for another one.
    void start(std::int64_t epoch, std::int64_t first_batch);

    /// Valid until the next call of next() or start().
    /// @throws DamagedCache, std::system_error; Error if the epoch has no more batches
    ClickBatch next();

    /// The batch that next() will return; nothing at the end of an epoch. Valid until the second next() from
    /// now, or start().
    std::optional<ClickBatch> await_next();

    /// Number of batches that are read together.
    std::int64_t batches_at_once() const { return at_once_; }

  private:
    struct SampleRow {
        std::int64_t sample;
        std::int64_t row;  ///< row in the batches' memory
    };

    std::int64_t batches_of_half(std::int64_t memory) const;
    void prepare(std::int64_t first, std::int64_t count);
    void copy(const ClickBlock& block, std::span<const SampleRow> rows);
    ClickBatch in_buffer(std::int64_t buffer) const;

    std::shared_ptr<const ClickCacheFile> cache_;
    Translate translate_;
    DistributedSampler sampler_;  ///< used only by the thread, except in start()
    std::int64_t at_once_;
    // All buffers, one batch after the other.
    std::vector<float> dense_;
    std::vector<std::int64_t> ids_;
    std::vector<float> labels_;
    std::vector<float> weights_;
    // Used only by the thread.
    std::vector<SampleRow> order_;
    ClickBlock block_;
    BatchesAhead batches_;
};

}  // namespace dtrain::data
