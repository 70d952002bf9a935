// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/client.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <dtrain/comm_error.hpp>

#include "comm/backoff.hpp"
#include "comm/deadline.hpp"
#include "comm/leaving.hpp"
#include "comm/mpi_error.hpp"

namespace dtrain::ps {
namespace {

using Clock = std::chrono::steady_clock;

// Servers time out on other trainers first, and then report which ones.
constexpr std::chrono::seconds servers_first{5};
constexpr std::chrono::microseconds max_poll_sleep{200};
// A server applies a push of 65536 rows in two milliseconds, and a sleeping thread wakes up 0.1 ms late.
constexpr std::chrono::microseconds poll_yields_alone{3000};

}  // namespace

ServerError::ServerError(int server, const std::string& why)
    : Error(fmt::format("parameter server {}: {}", server, why)), server_(server) {}

Client::Client(ClientOptions options, comm::Transport& transport)
    : options_(std::move(options)),
      transport_(&transport),
      pushes_(options_.servers.size()),
      unapplied_(options_.servers.size()),
      merged_(options_.servers.size()),
      gradients_(options_.widths.size()),
      dense_requests_(options_.servers.size()),
      steps_asked_(options_.servers.size()),
      steps_known_(options_.servers.size()),
      are_new_(options_.servers.size()),
      room_(options_.limits, options_.servers.size()),
      asked_(options_.widths.size()) {
    if (options_.mode != ServerMode::async) return;
    for (std::size_t server = 0; server < merged_.size(); ++server)
        merged_[server].assign(options_.dense[server], 0.0F);
}

int Client::server_of_rank(int rank) const {
    const auto found = std::ranges::find(options_.servers, rank);
    if (found == options_.servers.end())
        throw MessageError(fmt::format("a message of rank {}, which is no server", rank));
    return static_cast<int>(found - options_.servers.begin());
}

std::uint64_t Client::expect(int server, MessageKind to) {
    answers_[++requests_] = {.server = server, .to = to};
    return requests_;
}

// Callers keep references to answers, so an answer may be changed only once, by its own message.
Client::Answer& Client::answer_to(std::uint64_t request, int server, MessageKind kind) {
    const auto found = answers_.find(request);
    if (found == answers_.end() || found->second.server != server)
        throw MessageError(
            fmt::format("server {} answers request {}, which it was not asked", server, request));
    auto& answer = found->second;
    if (answer.message)
        throw MessageError(fmt::format("server {} answers the '{}' of request {} twice", server,
                                       to_string(answer.to), request));
    if (!is_answer(kind, answer.to))
        throw MessageError(fmt::format("server {} answers the '{}' of request {} with '{}'", server,
                                       to_string(answer.to), request, to_string(kind)));
    return answer;
}

bool Client::has_come(std::uint64_t request) const {
    const auto found = answers_.find(request);
    return found == answers_.end() || found->second.message.has_value();
}

bool Client::have_come(std::span<const std::uint64_t> requests) const {
    return std::ranges::all_of(requests, [this](auto request) { return has_come(request); });
}

void Client::forget(std::uint64_t request) {
    const auto found = answers_.find(request);
    if (found == answers_.end()) return;
    auto& answer = found->second;
    if (--answer.takers > 0 || !answer.message) return;
    transport_->recycle(std::move(*answer.message));
    answers_.erase(found);
}

bool Client::take_message() {
    auto message = transport_->receive();
    if (!message) return false;
    const MessageReader reader(message->content.bytes());
    const auto server = server_of_rank(message->from);
    const auto request = reader.header().request;
    // A failed save is kept for finish_save().
    if (reader.header().kind == MessageKind::failed && std::ranges::find(saves_, request) == saves_.end()) {
        ServerError refused(server, std::string(reader.text()));
        if (reader.header().steps == 0) throw refused;
        size_error_ = std::move(refused);
        return true;
    }
    auto& answer = answer_to(request, server, reader.header().kind);
    note_sizes(server, reader);
    const bool is_applied = reader.header().kind == MessageKind::applied;
    if (is_applied) unapplied_[static_cast<std::size_t>(server)] = 0;
    if (is_applied || answer.takers == 0) {
        answers_.erase(request);
        transport_->recycle(std::move(message->content));
    } else if (reader.header().kind == MessageKind::saving) {
        answer.is_begun = true;
        transport_->recycle(std::move(message->content));
    } else {
        answer.message = std::move(message->content);
    }
    return true;
}

void Client::progress() {
    while (take_message()) {
    }
}

template <class Condition>
void Client::wait_until(const Condition& condition, const char* what, int server) {
    auto backoff = transport_->is_crowded() ? comm::Backoff(true) : comm::Backoff(false, poll_yields_alone);
    while (!condition()) {
        if (size_error_) check_room();
        if (take_message()) {
            backoff.renew();
            continue;
        }
        if (backoff.pass_moment()) continue;
        const auto waited = backoff.waited();
        std::this_thread::sleep_for(std::min<Clock::duration>(
            std::chrono::duration_cast<Clock::duration>(waited / 8), max_poll_sleep));
        if (options_.deadline.count() == 0 || waited < options_.deadline + servers_first) continue;
        comm::note_broken();
        const int rank = options_.servers[static_cast<std::size_t>(server)];
        throw comm::reported(CommunicatorTimeout(
            fmt::format("no answer of parameter server {} (rank {}) to '{}' within {:.0f} s", server, rank,
                        what, waited.count()),
            what, static_cast<std::uint64_t>(steps_), waited, {{rank, "parameter server; did not answer"}}));
    }
    check_room();
}

const comm::MessageBytes& Client::wait_for(std::uint64_t request, const char* what) {
    const auto& answer = answers_.at(request);
    wait_until([&] { return answer.message.has_value(); }, what, answer.server);
    return *answer.message;
}

void Client::wait_until_begun(std::uint64_t save) {
    const auto& answer = answers_.at(save);
    wait_until([&] { return answer.is_begun || answer.message; }, "save", answer.server);
}

std::int64_t Client::join() {
    const auto write = [&](int server, MessageWriter& writer) {
        writer.add_text(options_.layouts[static_cast<std::size_t>(server)]);
    };
    const auto read = [&](int server, const MessageReader& reader) {
        const auto step = reader.header().step;
        if (server != 0 && options_.mode == ServerMode::sync && step != steps_)
            throw ServerError(server,
                              fmt::format("stands at step {}, and server 0 at step {}", step, steps_));
        if (server == 0) steps_ = step;
    };
    ask_all({.kind = MessageKind::join}, write, read);
    if (options_.mode != ServerMode::sync) return std::exchange(steps_, 0);
    return steps_;
}

void Client::leave() {
    flush();
    renew_sizes();
    ask_all({.kind = MessageKind::leave}, {}, {});
    while (!transport_->deliver()) std::this_thread::yield();
    answers_.clear();
}

void Client::abandon() noexcept {
    constexpr std::chrono::milliseconds timeout{100};
    try {
        if (!comm::mpi_is_running()) return;
        for (const int rank : options_.servers)
            send_message(*transport_, rank, {.kind = MessageKind::abandon});
        transport_->deliver_within(timeout);
    } catch (const std::exception&) {
        // MPI has failed: the servers cannot be notified.
    }
}

MessageWriter& Client::open_push(int server, std::size_t likely_bytes) {
    auto& open = pushes_[static_cast<std::size_t>(server)];
    if (!open)
        open.emplace(*transport_, MessageHeader{.kind = MessageKind::push, .step = steps_}, likely_bytes);
    return *open;
}

MessageWriter Client::take_push(int server) {
    auto& open = pushes_[static_cast<std::size_t>(server)];
    auto message = std::move(*open);
    open.reset();
    return message;
}

void Client::send_push(int server, std::uint32_t steps) {
    const auto number = static_cast<std::size_t>(server);
    auto& message = open_push(server);
    if (steps > 0) {
        message.set_steps(steps);
        if (options_.mode != ServerMode::sync)
            message.set_request(unapplied_[number] = expect(server, MessageKind::push));
    }
    message.send(options_.servers[number]);
    pushes_[number].reset();
}

void Client::send_ends(std::uint32_t steps) {
    for (int server = 0; server < servers(); ++server) send_push(server, steps);
    for (auto& waiting : gradients_) waiting.are_written = false;
}

void Client::end_step() {
    if (options_.mode == ServerMode::async) return end_step_alone();
    for (std::uint32_t table = 0; table < gradients_.size(); ++table) send_rows(table);
    // Pushes of a server are applied in order, so all are applied before the parameters are pulled.
    send_ends(1);
    ++steps_;
    ask_dense();
    are_new_.assign(are_new_.size(), true);
}

bool Client::pass_step() {
    if (options_.mode != ServerMode::sync && options_.mode != ServerMode::half_async) return false;
    for (const int rank : options_.servers) send_message(*transport_, rank, {.kind = MessageKind::idle});
    ++steps_;
    return true;
}

void Client::end_step_alone() {
    ++steps_;
    ++merged_steps_;
    progress();
    if (merged_steps_ >= options_.most_merged) wait_until_applied();
    if (is_all_applied()) send_merged();
    renew_dense();
    if (is_all_applied()) send_merged();  // waiting may have brought the acknowledgements
}

bool Client::is_all_applied() const {
    return std::ranges::all_of(unapplied_, [](auto request) { return request == 0; });
}

void Client::wait_until_applied() {
    for (int server = 0; server < servers(); ++server)
        wait_until([&] { return unapplied_[static_cast<std::size_t>(server)] == 0; }, "push", server);
}

void Client::send_merged() {
    if (merged_steps_ == 0) return;
    for (int server = 0; server < servers(); ++server) {
        auto& sums = merged_[static_cast<std::size_t>(server)];
        if (sums.empty()) continue;
        std::ranges::copy(sums, open_push(server).add_dense(0, sums.size()).begin());
        std::ranges::fill(sums, 0.0F);
    }
    for (std::uint32_t table = 0; table < gradients_.size(); ++table) send_rows(table);
    send_ends(static_cast<std::uint32_t>(merged_steps_));
    merged_steps_ = 0;
}

void Client::flush() {
    if (options_.mode == ServerMode::sync) return;  // later pulls wait for the pushed steps
    wait_until_applied();
    send_merged();
    wait_until_applied();
}

}  // namespace dtrain::ps
