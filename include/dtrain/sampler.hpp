// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dtrain {

/// One rank's part of one global batch.
struct LocalBatch {
    /// local_batch() sample numbers, of the last step last_batch(); padding repeats a sample
    std::span<const std::int64_t> samples = {};
    std::span<const float> weights = {};  ///< per sample; 1, or 0 for padding
    std::int64_t real = 0;                ///< how many of `samples` are no padding
};

enum class SampleOrder {
    shuffled,   ///< another permutation for every seed and epoch
    sequential  ///< 0, 1, 2, ... (evaluation)
};

/// What becomes of the slots of an epoch's last step for which no sample is left.
enum class LastBatch {
    repeat,  ///< padding: the samples that come next in the order, which begins again at its end
    random,  ///< padding: samples drawn at random, from seed, epoch and slot
    drop,   ///< there is no such step: up to global_batch - 1 samples are left out of each epoch, others each
            ///< time
    uneven  ///< no padding: in the last step the first ranks have equal parts, one perhaps a smaller batch,
            ///< and the others none
};

/// Deals the samples of an epoch to the ranks. Step s is one global batch of G samples: numbers s G .. s G +
/// G - 1 of the epoch's order, the same for any number of ranks; rank r takes an equal, contiguous part of
/// it. Slots that are left over in the last step of an epoch, or because the ranks do not divide G, are
/// padding: they repeat samples (as LastBatch says), have weight 0, and let all ranks do equally many steps
/// of equal shape; LastBatch::uneven does without.
///
/// No communication: all ranks compute the same order (Fisher-Yates with SplitMix64 keyed by seed and epoch),
/// which is the same on every platform. In memory it takes 4 bytes a sample, or 8 above 2^32 samples.
class DistributedSampler {
  public:
    struct Options {
        std::int64_t samples = 0;       ///< of the data set
        std::int64_t global_batch = 1;  ///< samples in one step of all ranks together
        int rank = 0;
        int ranks = 1;
        std::uint64_t seed = 0;
        SampleOrder order = SampleOrder::shuffled;
        LastBatch last_batch = LastBatch::repeat;
        int parts = 1;  ///< batches of each step that are dealt here: those of ranks rank .. rank + parts - 1
    };

    /// @throws UsageError when there is no sample, a batch below 1, rank and parts are not in 0..ranks-1, or
    /// dropping would leave no step; for uneven steps, when the ranks do not divide the global batch or there
    /// are several parts.
    explicit DistributedSampler(const Options& options);

    /// Steps per epoch, the same on all ranks: samples / global_batch, rounded up, or down when dropping.
    std::int64_t steps() const { return steps_; }
    /// Samples of an epoch that are no padding, of all ranks together.
    std::int64_t real_samples() const;
    /// Slots of one rank in a step: global_batch / ranks, rounded up.
    std::int64_t local_batch() const { return local_batch_; }

    /// Fixes the order of this epoch; any epoch, in any order. Epoch 0 is in force at first.
    void start_epoch(std::int64_t epoch);

    /// steps() times parts; one fewer when this rank has no part of the last step.
    std::int64_t batches() const;
    /// Samples in this rank's batch of the last step: local_batch(), but for uneven steps.
    std::int64_t last_batch() const;

    /// Batch 0..batches()-1: this rank's part of each step, or with several parts those of a step one after
    /// the other. The spans are good until the next call of batch().
    LocalBatch batch(std::int64_t number);

  private:
    std::int64_t sample_at(std::int64_t position) const;
    std::int64_t padding_sample(std::int64_t position) const;

    Options options_;
    std::int64_t epoch_ = 0;
    std::int64_t steps_ = 0;
    std::int64_t local_batch_ = 0;
    // Of a shuffled epoch, once there is one: the first where 32 bits hold all numbers, else the second.
    std::vector<std::uint32_t> order_;
    std::vector<std::int64_t> long_order_;
    std::vector<std::int64_t> batch_samples_;
    std::vector<float> batch_weights_;
};

/// The permutation of 0..count-1 that (seed, epoch) stands for.
std::vector<std::int64_t> shuffled_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

}  // namespace dtrain
