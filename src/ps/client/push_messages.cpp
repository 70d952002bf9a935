// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/push_messages.hpp"

#include <utility>

namespace dtrain::ps {

MessageWriter& PushMessages::open(int server, std::size_t likely_bytes) {
    auto& message = open_[static_cast<std::size_t>(server)];
    if (!message)
        message.emplace(channel_->transport(),
                        MessageHeader{.kind = MessageKind::push, .step = clock_->steps()}, likely_bytes);
    return *message;
}

std::size_t PushMessages::size(int server) const {
    const auto& message = open_[static_cast<std::size_t>(server)];
    return message ? message->size() : 0;
}

MessageWriter PushMessages::take(int server) {
    auto& open = open_[static_cast<std::size_t>(server)];
    auto message = std::move(*open);
    open.reset();
    return message;
}

void PushMessages::put_back(int server, MessageWriter message) {
    auto& open = open_[static_cast<std::size_t>(server)];
    if (open) send(server);
    open = std::move(message);
}

void PushMessages::send_with(int server, std::uint32_t steps) {
    auto& message = open(server);
    if (steps > 0) {
        message.set_steps(steps);
        if (clock_->has_acknowledgements()) {
            message.set_request(channel_->open(server, MessageKind::push));
            clock_->note_pushed(server);
        }
    }
    channel_->send(server, message);
    open_[static_cast<std::size_t>(server)].reset();
}

void PushMessages::send_ends(std::uint32_t steps) {
    for (int server = 0; server < channel_->servers(); ++server) send_with(server, steps);
}

}  // namespace dtrain::ps
