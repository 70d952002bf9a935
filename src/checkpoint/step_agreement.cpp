// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/step_agreement.hpp"

#include <span>
#include <utility>

namespace dtrain::checkpoint {

StepAgreement::Agreed StepAgreement::exchange(bool stop, bool written) {
    if (communicator_.size() == 1) return {stop, written};
    sum_.wait();
    Agreed agreed;
    if (has_said_) agreed = {said_[0] > 0, said_[1] == static_cast<float>(communicator_.size())};
    said_ = {stop ? 1.0F : 0.0F, written ? 1.0F : 0.0F};
    has_said_ = true;
    sum_ = communicator_.start_allreduce_sum(std::span<float>(said_));
    return agreed;
}

bool StepAgreement::after_step(CheckpointWriter& writer, bool stop) {
    const auto agreed = exchange(stop, writer.part_is_written());
    const bool was_of_this_one = std::exchange(said_of_, writer.last()) == writer.last();
    if (agreed.written && was_of_this_one && writer.waits_for_commit()) writer.commit();
    return agreed.stop;
}

}  // namespace dtrain::checkpoint
