// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/server_channel.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <dtrain/comm_error.hpp>

#include "comm/failure/deadline.hpp"
#include "comm/failure/leaving.hpp"
#include "comm/node/backoff.hpp"

namespace dtrain::ps {
namespace {

using Clock = std::chrono::steady_clock;

// Servers time out on other trainers first, and then report which ones.
constexpr std::chrono::seconds servers_first{5};
constexpr std::chrono::microseconds max_poll_sleep{200};
// A server applies a push of 65536 rows in two milliseconds, and a sleeping thread wakes up 0.1 ms late.
constexpr std::chrono::microseconds poll_yields_alone{3000};

}  // namespace

ServerChannel::ServerChannel(std::vector<int> servers, std::chrono::seconds deadline,
                             comm::Transport& transport, StepClock& clock, RowLimits& limits)
    : servers_(std::move(servers)),
      deadline_(deadline),
      transport_(&transport),
      clock_(&clock),
      limits_(&limits),
      trace_(transport.rank(), transport.size()) {}

int ServerChannel::server_of_rank(int rank) const {
    const auto found = std::ranges::find(servers_, rank);
    if (found == servers_.end())
        throw MessageError(fmt::format("a message of rank {}, which is no server", rank));
    return static_cast<int>(found - servers_.begin());
}

void ServerChannel::send(int server, MessageWriter& message) {
    message.send(servers_[static_cast<std::size_t>(server)]);
}

void ServerChannel::notify_all(MessageKind kind) {
    for (const int rank : servers_) send_message(*transport_, rank, {.kind = kind});
}

std::vector<std::uint64_t> ServerChannel::send_all(MessageHeader header,
                                                   const std::function<void(int, MessageWriter&)>& write) {
    std::vector<std::uint64_t> requests;
    for (int server = 0; server < servers(); ++server) {
        header.request = requests.emplace_back(open(server, header.kind));
        MessageWriter writer(*transport_, header);
        if (write) write(server, writer);
        send(server, writer);
    }
    return requests;
}

void ServerChannel::ask_all(const MessageHeader& header,
                            const std::function<void(int, MessageWriter&)>& write,
                            const std::function<void(int, const MessageReader&)>& read) {
    const auto requests = send_all(header, write);
    for (int server = 0; server < servers(); ++server) {
        const auto request = requests[static_cast<std::size_t>(server)];
        const auto answer = wait_for(request);
        if (read) read(server, answer);
        forget(request);
    }
}

bool ServerChannel::take_message() {
    auto message = transport_->receive();
    if (!message) return false;
    const MessageReader reader(message->content.bytes());
    const auto& header = reader.header();
    const auto server = server_of_rank(message->from);
    // The refusal of a save is the answer to it, for whoever waits for the save.
    if (header.kind == MessageKind::failed && !requests_.is_open(header.request, MessageKind::save)) {
        ServerError refused(server, std::string(reader.text()));
        if (header.steps == 0) throw refused;
        limits_->note_refusal(std::move(refused));
        return true;
    }
    requests_.check(server, header);
    limits_->note(server, reader);
    if (header.kind == MessageKind::applied) clock_->note_applied(server);
    if (auto unread = requests_.record(header, std::move(message->content)))
        transport_->recycle(std::move(*unread));
    return true;
}

void ServerChannel::progress() {
    while (take_message()) {
    }
}

bool ServerChannel::have_come(std::span<const std::uint64_t> requests) const {
    return std::ranges::all_of(requests, [this](auto request) { return has_come(request); });
}

void ServerChannel::wait_until(const std::function<bool()>& condition, MessageKind kind, int server) {
    if (!condition()) {
        const auto traced = trace_.for_answer(kind, servers_[static_cast<std::size_t>(server)]);
        wait_for_messages(condition, kind, server);
    }
    check_limits_();
}

void ServerChannel::wait_for_messages(const std::function<bool()>& condition, MessageKind kind, int server) {
    auto backoff = transport_->is_crowded() ? comm::Backoff(true) : comm::Backoff(false, poll_yields_alone);
    while (!condition()) {
        if (limits_->has_refusal()) check_limits_();
        if (take_message()) {
            backoff.renew();
            continue;
        }
        if (backoff.pass_moment()) continue;
        const auto waited = backoff.waited();
        std::this_thread::sleep_for(std::min<Clock::duration>(
            std::chrono::duration_cast<Clock::duration>(waited / 8), max_poll_sleep));
        if (deadline_.count() == 0 || waited < deadline_ + servers_first) continue;
        comm::note_broken();
        const int rank = servers_[static_cast<std::size_t>(server)];
        throw comm::reported(CommunicatorTimeout(
            fmt::format("no answer of parameter server {} (rank {}) to '{}' within {:.0f} s", server, rank,
                        to_string(kind), waited.count()),
            std::string(to_string(kind)), static_cast<std::uint64_t>(clock_->steps()), waited,
            {{rank, "parameter server; did not answer"}}));
    }
}

MessageReader ServerChannel::wait_for(std::uint64_t request) {
    const auto& asked = requests_.at(request);
    wait_until([&] { return asked.answer.has_value(); }, asked.kind, asked.server);
    return MessageReader(std::as_const(*asked.answer).bytes());
}

bool ServerChannel::wait_until_begun(std::uint64_t save) {
    const auto& asked = requests_.at(save);
    wait_until([&] { return asked.is_begun || asked.answer; }, asked.kind, asked.server);
    return asked.is_begun;
}

void ServerChannel::forget(std::uint64_t request) {
    if (auto unread = requests_.forget(request)) transport_->recycle(std::move(*unread));
}

void ServerChannel::close() {
    while (!transport_->deliver()) std::this_thread::yield();
    requests_.forget_all();
}

}  // namespace dtrain::ps
