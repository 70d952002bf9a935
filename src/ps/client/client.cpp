// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/client.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "comm/mpi/mpi_error.hpp"

namespace dtrain::ps {

Client::Client(const ClientOptions& options, comm::Transport& transport)
    : layouts_(options.layouts),
      clock_(options.mode, options.most_merged, options.servers.size()),
      limits_(options.limits, options.servers.size()),
      channel_(options.servers, options.deadline, transport, clock_, limits_),
      limit_report_(limits_, channel_),
      shapes_(options.widths, options.with_statistics, options.message_rows),
      recent_(options.widths.size()),
      pushes_(channel_, clock_),
      dense_pusher_(options.dense, clock_, pushes_),
      dense_puller_(options.dense, clock_, channel_),
      row_pusher_(shapes_, clock_, recent_, channel_.servers(), pushes_),
      row_puller_(shapes_, channel_, recent_),
      saves_(channel_) {
    channel_.on_wait([this] { limit_report_.check(); });
}

std::int64_t Client::join() {
    const auto write = [&](int server, MessageWriter& writer) {
        writer.add_text(layouts_[static_cast<std::size_t>(server)]);
    };
    std::int64_t first_step = 0;
    const auto read = [&](int server, const MessageReader& reader) {
        const auto step = reader.header().step;
        if (server != 0 && clock_.waits_for_all() && step != first_step)
            throw ServerError(server,
                              fmt::format("stands at step {}, and server 0 at step {}", step, first_step));
        if (server == 0) first_step = step;
    };
    channel_.ask_all({.kind = MessageKind::join}, write, read);
    if (clock_.waits_for_all()) clock_.start_at(first_step);
    return first_step;
}

void Client::leave() {
    flush();
    limit_report_.renew_sizes();
    channel_.ask_all({.kind = MessageKind::leave});
    channel_.close();
}

void Client::abandon() noexcept {
    constexpr std::chrono::milliseconds timeout{100};
    try {
        if (!comm::mpi_is_running()) return;
        channel_.notify_all(MessageKind::abandon);
        channel_.transport().deliver_within(timeout);
    } catch (const std::exception&) {
        // MPI has failed: the servers cannot be notified.
    }
}

void Client::end_step() {
    if (clock_.merges_steps()) return end_merged_step();
    row_pusher_.finish_step();
    // Pushes of a server are applied in order, so all are applied before the parameters are pulled.
    pushes_.send_ends(1);
    clock_.end_sent_step();
    dense_puller_.ask_after_step();
}

bool Client::pass_step() {
    if (!clock_.counts_steps_of_others()) return false;
    channel_.notify_all(MessageKind::idle);
    clock_.end_sent_step();
    return true;
}

void Client::progress_at_times() {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::microseconds interval{100};
    if (Clock::now() < next_progress_) return;
    progress();
    next_progress_ = Clock::now() + interval;
}

void Client::end_merged_step() {
    clock_.end_merged_step();
    progress();
    if (clock_.must_send()) wait_until_applied();
    if (clock_.are_all_applied()) send_merged_steps();
    dense_puller_.renew();
    if (clock_.are_all_applied()) send_merged_steps();  // waiting may have brought the acknowledgements
}

void Client::wait_until_applied() {
    for (int server = 0; server < servers(); ++server)
        channel_.wait_until([&] { return clock_.is_applied(server); }, MessageKind::push, server);
}

void Client::send_merged_steps() {
    if (clock_.unsent_steps() == 0) return;
    dense_pusher_.write_merged();
    row_pusher_.finish_step();
    pushes_.send_ends(clock_.send_merged_steps());
}

void Client::flush() {
    if (clock_.waits_for_all()) return;  // later pulls wait for the pushed steps
    wait_until_applied();
    send_merged_steps();
    wait_until_applied();
}

void Client::pull_rows(const WantedRows& wanted, std::span<float> out) {
    take_rows(ask_rows({&wanted, 1}).front(), out);
}

void Client::begin_save(const std::string& request) {
    if (saves_.are_any()) throw Error("the servers are saving already");
    limit_report_.renew_sizes();
    saves_.begin(steps(), request);
}

bool Client::is_saved() {
    progress();
    return saves_.are_done();
}

std::uint64_t Client::begin_day(std::uint32_t day, bool shrinks) {
    std::uint64_t removed = 0;
    const auto write = [&](int /*server*/, MessageWriter& writer) { writer.add_day(day, shrinks); };
    const auto read = [&](int /*server*/, const MessageReader& reader) {
        removed += static_cast<std::uint64_t>(reader.header().step);
    };
    channel_.ask_all({.kind = MessageKind::day, .step = steps()}, write, read);
    return removed;
}

std::vector<std::string> Client::counts() {
    std::vector<std::string> texts;
    channel_.ask_all({.kind = MessageKind::count}, {},
                     [&](int /*server*/, const MessageReader& reader) { texts.emplace_back(reader.text()); });
    return texts;
}

}  // namespace dtrain::ps
