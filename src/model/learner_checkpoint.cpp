// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Where a Learner stands, for checkpoints.
#include <array>
#include <bit>
#include <optional>

#include <dtrain/checkpoint.hpp>

#include "checkpoint/restore_together.hpp"
#include "model/learner.hpp"
#include "model/together.hpp"
#include "program/stored_state.hpp"

namespace dtrain::model {

CheckpointHeader Learner::header() const {
    return {.epoch = epochs_, .step = steps_, .seed = options_.seed, .job = prepared_->job};
}

Checkpoint Learner::checkpoint() const {
    Checkpoint checkpoint;
    static_cast<CheckpointHeader&>(checkpoint) = header();
    program::store(prepared_->state, checkpoint);
    return checkpoint;
}

std::filesystem::path Learner::load(const std::vector<std::filesystem::path>& files,
                                    const std::function<void(const std::string&)>& warn) {
    const auto& communicator = options_.communicator;
    const auto& state = prepared_->state;
    const auto found =
        checkpoint::restore_or_keep(communicator, files, prepared_->job, state, warn, "program");
    go_on_from(found.header);
    return found.file;
}

void Learner::go_on_from(const CheckpointHeader& header) {
    std::array<std::int64_t, 3> position{header.epoch, header.step, std::bit_cast<std::int64_t>(header.seed)};
    options_.communicator.broadcast(std::span<std::int64_t>(position));
    epochs_ = position[0];
    steps_ = position[1];
    options_.seed = std::bit_cast<std::uint64_t>(position[2]);
}

}  // namespace dtrain::model
