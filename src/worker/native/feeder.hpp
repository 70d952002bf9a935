// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <dtrain/dataset.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/sampler.hpp>

#include "io/prefetcher.hpp"

namespace dtrain::native {

/// Memory of an executor that a step's batch goes into.
struct FedMemory {
    std::span<float> x;
    std::span<std::int64_t> label;
    std::span<float> weight;

    /// Of a model's program; good as long as the executor.
    static FedMemory of(Executor& executor);
};

/// Brings a data set's mini-batches into an executor, step by step: straight from memory, or from disk by a
/// thread that reads ahead.
class Feeder {
  public:
    Feeder(std::shared_ptr<const DataSource> data, const DistributedSampler::Options& sampling);

    /// The next feed() is of that step.
    void start(std::int64_t epoch, std::int64_t first_step);

    /// Writes the next step's batch. Allocates nothing.
    /// @throws UsageError when a sample cannot be read.
    void feed(const FedMemory& to);

    const DataSource& data() const { return *data_; }
    std::int64_t steps() const { return sampler_.steps(); }
    std::int64_t local_batch() const { return sampler_.local_batch(); }
    /// Batches of each step that are fed one after the other.
    int parts() const { return parts_; }
    /// Samples of an epoch that are no padding, of all ranks.
    std::int64_t real_samples() const { return sampler_.real_samples(); }

  private:
    std::shared_ptr<const DataSource> data_;
    DistributedSampler sampler_;
    int parts_;
    std::int64_t batch_ = 0;
    std::unique_ptr<io::Prefetcher> prefetcher_;
};

}  // namespace dtrain::native
