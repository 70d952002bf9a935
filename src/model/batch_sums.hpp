// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/executor.hpp>

#include "model/exact_auc.hpp"
#include "model/spec.hpp"
#include "train/rank_parts.hpp"

namespace dtrain::model {

/// Sums over the batches of an epoch. Each rank knows its own; they are added in the order of steps and
/// parts, so that any number of ranks that share virtual ranks gets bitwise identical results.
class BatchSums {
  public:
    BatchSums(std::int64_t steps, const train::RankParts& parts);

    /// Call it after each batch of this rank: parts of a step one after the other, step by step.
    void add(Executor& executor, const LossProgram& program);

    /// The mean over this rank's samples so far. @param local_batch samples per batch
    double loss_so_far(std::int64_t local_batch) const {
        return own_loss_ / static_cast<double>(static_cast<std::int64_t>(batches_) * local_batch);
    }

    /// Collective. @param samples of all ranks, without padding
    Metrics means(const std::vector<Metric>& metrics, std::int64_t samples,
                  const Communicator& communicator) const;

  private:
    train::RankParts parts_;
    std::size_t batches_ = 0;
    double own_loss_ = 0;
    std::vector<double> loss_;
    std::vector<double> correct_;
    std::vector<ScoredSample> scored_;
};

}  // namespace dtrain::model
