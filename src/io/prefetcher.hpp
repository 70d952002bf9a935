// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <dtrain/dataset.hpp>
#include <dtrain/sampler.hpp>

namespace dtrain::io {

/// What a step needs on this rank.
struct PreparedBatch {
    std::vector<float> x;  ///< local_batch() rows of features() values
    std::vector<std::int64_t> labels;
    std::vector<float> weights;
};

/// Gathers the mini-batches of an epoch in a thread of its own, some steps ahead of the one that runs.
/// Buffers are made once. next() is for one thread.
class Prefetcher {
  public:
    /// @param depth batches that may be ready
    Prefetcher(std::shared_ptr<const DataSource> data, const DistributedSampler& sampler,
               std::size_t depth = 3);
    ~Prefetcher();
    Prefetcher(const Prefetcher&) = delete;
    Prefetcher& operator=(const Prefetcher&) = delete;

    /// Begins with a step of an epoch; what was prepared for another one is forgotten.
    void start(std::int64_t epoch, std::int64_t first_step);

    /// The next step's batch, good until the next call of next() or start().
    /// @throws what gathering threw; Error when the epoch has no more steps.
    const PreparedBatch& next();

  private:
    void work();
    void prepare(std::int64_t step, PreparedBatch& batch);
    void announce(std::int64_t step);

    std::shared_ptr<const DataSource> data_;
    DistributedSampler sampler_;
    std::vector<PreparedBatch> ring_;

    std::mutex mutex_;
    std::condition_variable changed_;
    bool ends_ = false;
    bool works_ = false;         ///< the thread is preparing a batch, without the mutex
    std::int64_t prepared_ = 0;  ///< steps before it are ready or taken
    std::int64_t taken_ = 0;     ///< step that next() gives
    bool in_use_ = false;        ///< the one before taken_ is still looked at
    std::exception_ptr failure_;

    // Of the thread alone.
    std::vector<std::int64_t> announced_;
    std::int64_t announced_until_ = 0;
    std::thread thread_;
};

}  // namespace dtrain::io
