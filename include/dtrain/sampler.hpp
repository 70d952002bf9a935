// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dtrain {

/// One rank's part of one global batch.
struct LocalBatch {
    /// local_batch() sample numbers, or last_batch() in the last step; padding repeats a sample
    std::span<const std::int64_t> samples = {};
    std::span<const float> weights = {};  ///< per sample: 1, or 0 for padding
    std::int64_t real = 0;                ///< number of `samples` that are not padding
};

/// The order of the samples of an epoch.
enum class SampleOrder {
    shuffled,   ///< a new permutation for every seed and epoch
    sequential  ///< 0, 1, 2, ... (evaluation)
};

/// What happens to the slots of an epoch's last step for which no sample is left.
enum class LastBatch {
    repeat,  ///< padding: the next samples in the epoch's order, which wraps around to its start
    random,  ///< padding: samples drawn at random from seed, epoch and slot
    drop,  ///< the step is dropped: up to global_batch - 1 samples are left out of each epoch, different ones
           ///< each time
    uneven  ///< no padding: in the last step the first ranks have equal parts, one rank may have a smaller
            ///< batch, and the remaining ranks have none
};

/// Distributes the samples of an epoch over the ranks. Step s is one global batch of G samples: numbers s G
/// .. s G + G - 1 of the epoch's order, the same for any number of ranks; rank r takes an equal, contiguous
/// part of it. Slots without a sample, in the last step of an epoch or because G is not divisible by the
/// number of ranks, are padding: they repeat samples (see LastBatch), have weight 0, and let all ranks do
/// equally many steps of equal shape. LastBatch::uneven uses no padding.
///
/// Needs no communication: all ranks compute the same order (Fisher-Yates with SplitMix64 keyed by seed and
/// epoch), which is the same on every platform. It takes 4 bytes of memory per sample, or 8 above 2^32
/// samples.
class DistributedSampler {
  public:
    /// What is distributed, and to whom.
    struct Options {
        std::int64_t samples = 0;                   ///< in the data set
        std::int64_t global_batch = 1;              ///< samples in one step over all ranks together
        int rank = 0;                               ///< this rank
        int ranks = 1;                              ///< number of ranks
        std::uint64_t seed = 0;                     ///< of the order, and of LastBatch::random
        SampleOrder order = SampleOrder::shuffled;  ///< shuffled or sequential
        LastBatch last_batch = LastBatch::repeat;   ///< of an epoch
        int parts = 1;  ///< batches returned per step: those of ranks rank .. rank + parts - 1
    };

    /// @throws UsageError if there is no sample, a batch is below 1, rank and parts are not in 0..ranks-1, or
    /// dropping would leave no step; for uneven steps, if the global batch is not divisible by the number of
    /// ranks or there are several parts.
    explicit DistributedSampler(const Options& options);

    /// Steps per epoch, the same on all ranks: samples / global_batch, rounded up, or down when dropping.
    std::int64_t steps() const { return steps_; }
    /// Number of samples of an epoch over all ranks, without padding.
    std::int64_t real_samples() const;
    /// Slots per rank and step: global_batch / ranks, rounded up.
    std::int64_t local_batch() const { return local_batch_; }

    /// Selects an epoch and computes its order; epochs may be selected in any order. Initially epoch 0 is
    /// selected.
    void start_epoch(std::int64_t epoch);

    /// steps() times parts; one fewer if this rank has no part of the last step.
    std::int64_t batches() const;
    /// Number of samples in this rank's batch of the last step: local_batch(), except for uneven steps.
    std::int64_t last_batch() const;

    /// Batch 0..batches()-1: this rank's part of each step; with several parts, the parts of a step one after
    /// the other. The spans are valid until the next call of batch().
    LocalBatch batch(std::int64_t number);

  private:
    std::int64_t sample_at(std::int64_t position) const;
    std::int64_t padding_sample(std::int64_t position) const;

    Options options_;
    std::int64_t epoch_ = 0;
    std::int64_t steps_ = 0;
    std::int64_t local_batch_ = 0;
    // Order of a shuffled epoch, once there is one: order_ if 32 bits hold all sample numbers, else
    // long_order_.
    std::vector<std::uint32_t> order_;
    std::vector<std::int64_t> long_order_;
    std::vector<std::int64_t> batch_samples_;
    std::vector<float> batch_weights_;
};

/// The permutation of 0..count-1 for (seed, epoch).
std::vector<std::int64_t> shuffled_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

}  // namespace dtrain
