// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dtrain/executor.hpp>
#include <dtrain/sampler.hpp>

namespace dtrain::native {

/// Brings a rank's share of the mini-batches into an executor, step by step.
class Feeder {
  public:
    explicit Feeder(const DistributedSampler::Options& sampling)
        : sampler_(sampling), parts_(sampling.parts) {}
    Feeder(const Feeder&) = delete;
    Feeder& operator=(const Feeder&) = delete;
    virtual ~Feeder() = default;

    /// Batches go into the data variables of this executor, which must live when they are fed.
    virtual void bind(Executor& executor) = 0;

    /// The next feed() is of that step.
    virtual void start(std::int64_t epoch, std::int64_t first_step) {
        batch_ = first_step * parts_;
        sampler_.start_epoch(epoch);
    }

    /// Writes the next step's batch. Allocates nothing.
    /// @throws UsageError when a sample cannot be read.
    virtual void feed() = 0;

    std::int64_t steps() const { return sampler_.steps(); }
    std::int64_t local_batch() const { return sampler_.local_batch(); }
    /// Batches of each step that are fed one after the other.
    int parts() const { return parts_; }
    /// Samples of an epoch that are no padding, of all ranks.
    std::int64_t real_samples() const { return sampler_.real_samples(); }

  protected:
    /// Good until the next call.
    LocalBatch next_batch() { return sampler_.batch(batch_++); }

  private:
    DistributedSampler sampler_;
    int parts_;
    std::int64_t batch_ = 0;
};

}  // namespace dtrain::native
