// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include <dtrain/communicator.hpp>
#include <dtrain/executor.hpp>

#include "train/feeder.hpp"
#include "train/phase_clock.hpp"
#include "train/rank_parts.hpp"

/// The training loop of models and of native jobs.
namespace dtrain::train {

/// How far a training has come; all of it is in checkpoints.
struct Position {
    std::int64_t epoch = 0;       ///< complete epochs
    std::int64_t step = 0;        ///< complete steps, of all epochs
    std::int64_t epoch_step = 0;  ///< complete steps of the epoch in progress
    friend bool operator==(const Position&, const Position&) = default;
};

/// What a training does at each point of the loop. Functions that are not set do nothing.
struct LoopHooks {
    /// The executor of a step of the epoch (counted from 0), bound to the feeder; null if this rank has no
    /// batch for the step. Must be set.
    std::function<Executor*(std::int64_t step)> executor;
    std::function<void()> fed;                ///< after a batch has been fed, before it is computed
    std::function<void(Executor&)> computed;  ///< after a batch, while its results can be fetched
    /// After each step, with the number of complete steps of the epoch. False ends the loop, on all ranks
    /// alike; after the last step the epoch is complete whatever it returns.
    std::function<bool(std::int64_t done)> goes_on;
    /// Compares the ranks' times, or forgets them. Collective. Must be set.
    std::function<void()> settle;
};

/// Runs epochs of steps: feeds this rank's batches, computes them, adds the gradients and updates.
class Loop {
  public:
    explicit Loop(RankParts parts) : parts_(parts) {}

    /// Runs the rest of the epoch in progress. Collective over the training ranks.
    /// @return false if the hooks ended it
    bool run_epoch(Feeder& feeder, const LoopHooks& hooks);

    /// The epoch in progress is complete, and the next one begins.
    void end_epoch();

    void go_on_from(const Position& position) { position_ = position; }
    const Position& position() const { return position_; }
    const RankParts& parts() const { return parts_; }
    PhaseClock& phases() { return phases_; }
    const PhaseClock& phases() const { return phases_; }

  private:
    void run_step(Executor& executor, Feeder& feeder, const LoopHooks& hooks);

    RankParts parts_;
    Position position_;
    PhaseClock phases_;
};

/// @param epoch counted from 1 @throws Error on all ranks if the loss is not finite, which is the same on all
void check_loss(double loss, std::int64_t epoch, const Communicator& communicator);

/// Collective. @param epoch counted from 1 @throws Error on all ranks if their parameters differ
void check_parameters(const State& state, std::int64_t epoch, const Communicator& communicator);

}  // namespace dtrain::train
