// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/dense_pusher.hpp"

#include <algorithm>

#include "kernels/loops/loops.hpp"
#include "ps/client/message_size.hpp"

namespace dtrain::ps {

DensePusher::DensePusher(const std::vector<std::size_t>& sizes, const StepClock& clock,
                         PushMessages& messages)
    : messages_(&messages), merges_(clock.merges_steps()) {
    if (!merges_) return;
    for (const auto size : sizes) sums_.emplace_back(size);
}

void DensePusher::push(int server, std::size_t first, std::span<const float> gradients) {
    if (merges_) {
        auto& sums = sums_[static_cast<std::size_t>(server)];
        kernels::loops::add(gradients.data(), &sums[first], gradients.size());
        return;
    }
    auto& message = messages_->open(server, full_message);
    std::ranges::copy(gradients, message.add_dense(first, gradients.size()).begin());
    if (message.size() >= full_message) messages_->send(server);
}

void DensePusher::write_merged() {
    for (std::size_t server = 0; server < sums_.size(); ++server) {
        auto& sums = sums_[server];
        if (sums.empty()) continue;
        auto& message = messages_->open(static_cast<int>(server));
        std::ranges::copy(sums, message.add_dense(0, sums.size()).begin());
        std::ranges::fill(sums, 0.0F);
    }
}

}  // namespace dtrain::ps
