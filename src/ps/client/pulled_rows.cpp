// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/pulled_rows.hpp"

#include <algorithm>
#include <utility>

#include "ps/client/server_error.hpp"

namespace dtrain::ps {

PulledRows::~PulledRows() {
    for (const auto& part : parts_)
        if (part.request != 0) channel_->forget(part.request);
}

std::span<const float> PulledRows::next_of_message(std::size_t server) {
    auto& rest = parts_[server].rest;
    if (rest.empty()) open(server);
    return std::exchange(rest, {});
}

void PulledRows::open(std::size_t server) {
    auto& part = parts_[server];
    if (part.request != 0) channel_->forget(std::exchange(part.request, 0));
    const auto before = part.messages++;
    const auto& [request, index] = asked_->parts[server].at(before);
    auto answer = channel_->wait_for(request);
    part.request = request;
    auto section = answer.next();
    for (std::size_t i = 0; section && i < index; ++i) section = answer.next();
    if (!section) throw ServerError(static_cast<int>(server), "answered without values");
    part.rest = section->floats(std::min(max_, asked_->counts[server] - before * max_) * width_);
}

}  // namespace dtrain::ps
