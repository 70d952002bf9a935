// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/step_agreement.hpp"

#include <span>

namespace dtrain::native {

Agreed StepAgreement::after_step(bool stop, bool written) {
    if (communicator_.size() == 1) return {stop, written};
    sum_.wait();
    Agreed agreed;
    if (has_said_) agreed = {said_[0] > 0, said_[1] == static_cast<float>(communicator_.size())};
    said_ = {stop ? 1.0F : 0.0F, written ? 1.0F : 0.0F};
    has_said_ = true;
    sum_ = communicator_.start_allreduce_sum(std::span<float>(said_));
    return agreed;
}

}  // namespace dtrain::native
