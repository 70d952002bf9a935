// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/dense_puller.hpp"

#include <algorithm>
#include <utility>

#include "ps/client/server_error.hpp"

namespace dtrain::ps {

DensePuller::DensePuller(std::vector<std::size_t> sizes, const StepClock& clock, ServerChannel& channel)
    : clock_(&clock), channel_(&channel) {
    for (const auto size : sizes) servers_.push_back({.size = size});
}

void DensePuller::ask() {
    for (int number = 0; number < channel_->servers(); ++number) {
        auto& server = servers_[static_cast<std::size_t>(number)];
        if (server.size == 0 || server.request != 0) continue;
        server.request = channel_->open(number, MessageKind::pull);
        MessageWriter writer(channel_->transport(),
                             {.kind = MessageKind::pull, .step = clock_->steps(), .request = server.request});
        writer.ask_dense(0, server.size);
        channel_->send(number, writer);
        server.steps_asked = clock_->sent_steps();
    }
}

void DensePuller::forget(Server& server) {
    channel_->forget(std::exchange(server.request, 0));
}

void DensePuller::mark_all_new() {
    for (auto& server : servers_) server.is_new = true;
}

void DensePuller::ask_after_step() {
    ask();
    mark_all_new();
}

void DensePuller::renew() {
    ask();
    const auto needed = clock_->min_known_steps();
    for (auto& server : servers_) {
        if (server.request == 0) continue;
        if (server.steps_known < needed) {
            channel_->wait_for(server.request);
            if (server.steps_asked < needed) {
                forget(server);
                ask();
                channel_->wait_for(server.request);
            }
        }
        server.is_new = channel_->has_come(server.request);
    }
}

void DensePuller::ask_anew() {
    for (auto& server : servers_) {
        if (server.request == 0) continue;
        channel_->wait_for(server.request);  // the pending answer may be older
        forget(server);
    }
    ask_after_step();
}

std::span<const float> DensePuller::values(int server) {
    const auto& asked = servers_[static_cast<std::size_t>(server)];
    if (asked.request == 0 || !asked.is_new) return {};
    const auto section = channel_->wait_for(asked.request).next();
    if (!section) throw ServerError(server, "answered without values");
    return section->floats(asked.size);
}

bool DensePuller::have_come() const {
    return std::ranges::all_of(servers_,
                               [this](const Server& server) { return channel_->has_come(server.request); });
}

void DensePuller::drop() {
    for (auto& server : servers_) {
        if (!server.is_new) continue;
        if (server.request != 0) channel_->wait_for(server.request);
        forget(server);
        server.steps_known = server.steps_asked;
        server.is_new = false;
    }
    // Where every step waits for the values that it requests after its push, none are requested here.
    if (clock_->merges_steps() && !clock_->knows_each_step()) ask();
}

}  // namespace dtrain::ps
