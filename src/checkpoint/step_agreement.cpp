// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/step_agreement.hpp"

#include <span>
#include <utility>

namespace dtrain::checkpoint {

StepAgreement::Agreed StepAgreement::exchange(const StepWishes& own, bool written) {
    if (communicator_.size() == 1) return {own, written};
    sum_.wait();
    Agreed agreed;
    if (has_said_)
        agreed = {{said_[0] > 0, said_[1] > 0}, said_[2] == static_cast<float>(communicator_.size())};
    said_ = {own.stop ? 1.0F : 0.0F, own.checkpoint ? 1.0F : 0.0F, written ? 1.0F : 0.0F};
    has_said_ = true;
    sum_ = communicator_.start_allreduce_sum(std::span<float>(said_));
    return agreed;
}

StepWishes StepAgreement::after_step(CheckpointWriter& writer, const StepWishes& own) {
    const auto [wishes, written] = exchange(own, writer.part_is_written());
    const bool was_of_this_one = std::exchange(reported_checkpoint_, writer.last()) == writer.last();
    if (written && was_of_this_one && writer.waits_for_commit()) writer.commit();
    return {wishes.stop, wishes.checkpoint && was_of_this_one};
}

}  // namespace dtrain::checkpoint
