// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <dtrain/communicator.hpp>
#include <dtrain/dataset.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/sampler.hpp>
#include <dtrain/var.hpp>

namespace dtrain {

/// Where batches go, and which samples they have.
struct BatchesOptions {
    Var x = {};              ///< data variable of the samples, float32 [batch, ...]
    Var label = {};          ///< data variable of the labels, int64 [batch] or [batch, 1]
    Var weight = {};         ///< data variable, float32 [batch]: 1, or 0 for padding; none: it is not fed
    std::uint64_t seed = 0;  ///< see DistributedSampler::Options
    SampleOrder order = SampleOrder::shuffled;  ///< see DistributedSampler::Options
    /// See DistributedSampler::Options; LastBatch::uneven is not allowed, as the program's batch is fixed.
    LastBatch last_batch = LastBatch::repeat;
};

/// Deals the samples of a data source to the ranks (DistributedSampler) and feeds this rank's batches to an
/// executor, for hand-written training loops:
///
///     Batches batches(trainer, images, communicator, {.x = x, .label = label, .seed = 1});
///     for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
///         for (const auto step : batches.epoch(epoch)) trainer.run();
///
/// A step has the batch of the program on each rank, so the global batch grows with the number of ranks.
class Batches {
  public:
    /// Executor and source must outlive the object, and the executor must not be moved. Not collective; all
    /// ranks have the same source, options and batch.
    /// @throws ProgramError if the program has no such data variables; UsageError if a batch of `x` is not as
    /// many samples of the source as labels, and as DistributedSampler
    Batches(Executor& executor, const DataSource& source, const Communicator& ranks,
            const BatchesOptions& options);

    /// Steps per epoch, the same on all ranks.
    std::int64_t steps() const { return sampler_.steps(); }

    class Epoch;

    /// The steps of an epoch, 0 ... steps() - 1: each is fed when it is reached. The next call ends the
    /// iteration of this one. @throws UsageError, while it is iterated, if a sample cannot be read
    Epoch epoch(std::int64_t number);

    /// Runs the executor for each step of an epoch (the first one) and returns the sum of a variable, float32
    /// [1], over all steps and ranks: the number of correct samples, say. Collective over the ranks.
    /// @throws as Executor::run() and Executor::fetch()
    double sum(const Var& scalar);

  private:
    void feed(std::int64_t step);

    Executor* executor_;
    const DataSource* source_;
    Communicator ranks_;
    std::span<std::int64_t> labels_;
    std::span<float> x_;
    std::span<float> weights_;  // empty without BatchesOptions::weight
    DistributedSampler sampler_;
};

/// The steps of an epoch.
class Batches::Epoch {
  public:
    /// Points to a step.
    class Iterator {
      public:
        /// @param step from 0
        Iterator(Batches& batches, std::int64_t step) : batches_(&batches), step_(step) {}

        /// Feeds the step's batch. @return the step
        std::int64_t operator*() const {
            batches_->feed(step_);
            return step_;
        }
        /// Goes to the next step.
        Iterator& operator++() {
            ++step_;
            return *this;
        }
        /// Whether both point to the same step.
        bool operator==(const Iterator& other) const { return step_ == other.step_; }

      private:
        Batches* batches_;
        std::int64_t step_;
    };

    /// Of the epoch that the sampler has selected.
    explicit Epoch(Batches& batches) : batches_(&batches) {}

    /// The first step.
    Iterator begin() const { return {*batches_, 0}; }
    /// Behind the last step.
    Iterator end() const { return {*batches_, batches_->steps()}; }

  private:
    Batches* batches_;
};

}  // namespace dtrain
