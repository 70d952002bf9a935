// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <dtrain/executor.hpp>
#include <dtrain/parameter_servers.hpp>
#include <dtrain/sampler.hpp>

namespace dtrain::train {

/// Feeds a rank's part of the mini-batches into an executor, step by step.
class Feeder {
  public:
    explicit Feeder(const DistributedSampler::Options& sampling)
        : sampler_(sampling), parts_(sampling.parts) {}
    Feeder(const Feeder&) = delete;
    Feeder& operator=(const Feeder&) = delete;
    virtual ~Feeder() = default;

    /// Batches go into the data variables of this executor, which must exist when they are fed. Its program
    /// is for the size of the next batch: local_batch() or last_batch() samples.
    virtual void bind(Executor& executor) = 0;

    /// The next feed() is for that step.
    virtual void start(std::int64_t epoch, std::int64_t first_step) {
        batch_ = first_step * parts_;
        sampler_.start_epoch(epoch);
    }

    /// Writes the next step's batch. Does not allocate. @throws UsageError if a sample cannot be read.
    virtual void feed() = 0;

    /// The lookup that the batch after the last fed one needs from parameter servers, valid until the next
    /// call of any function; none at the end of an epoch, or without servers.
    virtual std::optional<Lookup> ahead() { return std::nullopt; }

    std::int64_t steps() const { return sampler_.steps(); }
    std::int64_t local_batch() const { return sampler_.local_batch(); }
    /// Number of samples that this rank has in the last step of an epoch: fewer than local_batch(), or none,
    /// only with LastBatch::uneven.
    std::int64_t last_batch() const { return sampler_.last_batch(); }
    /// Number of batches of each step that are fed one after the other.
    int parts() const { return parts_; }
    /// Number of samples of an epoch over all ranks, without padding.
    std::int64_t real_samples() const { return sampler_.real_samples(); }

  protected:
    /// The batch that next_batch() will return; none at the end of an epoch. Valid until either is called.
    std::optional<LocalBatch> batch_ahead() {
        if (batch_ >= sampler_.batches()) return std::nullopt;
        return sampler_.batch(batch_);
    }

    /// Valid until the next call.
    LocalBatch next_batch() { return sampler_.batch(batch_++); }

  private:
    DistributedSampler sampler_;
    int parts_;
    std::int64_t batch_ = 0;
};

}  // namespace dtrain::train
