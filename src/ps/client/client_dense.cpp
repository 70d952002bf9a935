// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Client: pushing gradients of dense parameters and pulling the parameters.
#include <algorithm>
#include <utility>

#include "kernels/loops.hpp"
#include "ps/client/client.hpp"

namespace dtrain::ps {

void Client::push_dense(int server, std::size_t first, std::span<const float> gradients) {
    const auto number = static_cast<std::size_t>(server);
    if (options_.mode == ServerMode::async) {
        kernels::loops::add(gradients.data(), &merged_[number][first], gradients.size());
        return;
    }
    std::ranges::copy(gradients, open_push(server, full_message).add_dense(first, gradients.size()).begin());
    if (pushes_[number]->size() >= full_message) send_push(server, 0);
}

void Client::ask_dense() {
    for (int server = 0; server < servers(); ++server) {
        const auto number = static_cast<std::size_t>(server);
        if (options_.dense[number] == 0 || dense_requests_[number] != 0) continue;
        MessageWriter writer(*transport_,
                             {.kind = MessageKind::pull,
                              .step = steps_,
                              .request = dense_requests_[number] = expect(server, MessageKind::pull)});
        writer.ask_dense(0, options_.dense[number]);
        writer.send(options_.servers[number]);
        steps_asked_[number] = steps_ - merged_steps_;
    }
}

// async: takes what has arrived; waits for values that lack too many of this trainer's own steps.
void Client::renew_dense() {
    ask_dense();
    for (std::size_t server = 0; server < dense_requests_.size(); ++server) {
        auto& request = dense_requests_[server];
        if (request == 0) continue;
        const auto needed = steps_ - options_.most_merged + 1;
        if (steps_known_[server] < needed) {
            wait_for(request, "pull");
            if (steps_asked_[server] < needed) {
                forget(std::exchange(request, 0));
                ask_dense();
                wait_for(request, "pull");
            }
        }
        are_new_[server] = has_come(request);
    }
}

std::span<const float> Client::dense_values(int server) {
    const auto number = static_cast<std::size_t>(server);
    const auto request = dense_requests_[number];
    if (request == 0 || !are_new_[number]) return {};
    MessageReader reader(wait_for(request, "pull").bytes());
    const auto section = reader.next();
    if (!section) throw ServerError(server, "answered without values");
    return section->floats(options_.dense[number]);
}

bool Client::has_dense_come() const {
    return have_come(dense_requests_);
}

void Client::drop_dense_values() {
    for (std::size_t server = 0; server < dense_requests_.size(); ++server)
        if (are_new_[server]) {
            if (dense_requests_[server] != 0) wait_for(dense_requests_[server], "pull");
            forget(std::exchange(dense_requests_[server], 0));
            steps_known_[server] = steps_asked_[server];
            are_new_[server] = false;
        }
    // With most_merged = 1, every step waits for the values that it requests after its push.
    if (options_.mode == ServerMode::async && options_.most_merged > 1) ask_dense();
}

void Client::pull_dense() {
    for (auto& request : dense_requests_) {
        if (request == 0) continue;
        wait_for(request, "pull");  // the pending answer may be older
        forget(std::exchange(request, 0));
    }
    ask_dense();
    are_new_.assign(are_new_.size(), true);
}

}  // namespace dtrain::ps
