// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/orders.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <unistd.h>
#include <utility>

#include <climits>
#include <fmt/format.h>

namespace dtrain::worker {
namespace {

using cluster::Order;
using std::chrono::milliseconds;

constexpr milliseconds max_poll{5000};

std::vector<int> watched_signals(Orders::Source source) {
    auto watched = stop_signals_and({SIGUSR1, SIGUSR2, SIGALRM});
    if (source == Orders::Source::signals_in_step) watched.push_back(SIGURG);
    if (source == Orders::Source::signals_of_launcher) watched.push_back(SIGABRT);
    return watched;
}

bool is_slurmstepd(pid_t pid) {
    return read_file(fmt::format("/proc/{}/comm", pid)) == "slurmstepd\n";
}

}  // namespace

void hold_signals(Orders::Source source) {
    dtrain::hold_signals(watched_signals(source));
}

Orders::Orders(Source source, milliseconds timeout)
    : signals_(watched_signals(source)),
      lines_(source == Source::signals_and_stdin ? STDIN_FILENO : -1),
      timeout_(timeout) {}

std::array<pollfd, 2> Orders::sources() const {
    return {{{signals_.fd(), POLLIN, 0}, {lines_, POLLIN, 0}}};
}

bool Orders::wait(std::chrono::milliseconds limit) const {
    auto polled = sources();
    return ::poll(polled.data(), polled.size(), static_cast<int>(limit.count())) > 0;
}

std::vector<Order> Orders::take() {
    std::vector<Order> orders;
    take_signals(orders);
    take_lines(orders);
    note_silence(orders);
    return orders;
}

void Orders::take_signals(std::vector<Order>& orders) {
    while (const auto taken = signals_.take()) {
        const int signal = taken->number;
        if (signal == SIGUSR1 || signal == SIGUSR2) {
            if (!is_slurmstepd(taken->sender))
                orders.push_back({.kind = Order::Kind::pass_on, .signal = signal});
        } else if (signal == SIGURG)
            orders.push_back({.kind = Order::Kind::give_way});
        else if (signal == SIGABRT && taken->sender == ::getppid())
            orders.push_back({.kind = Order::Kind::show_stacks});
        else if (signal == SIGALRM)
            orders.push_back(
                {.kind = std::exchange(alarmed_, true) ? Order::Kind::leave : Order::Kind::stop});
        else
            orders.push_back({.kind = Order::Kind::end, .signal = signal});
    }
}

void Orders::take_lines(std::vector<Order>& orders) {
    pollfd readable{lines_, POLLIN, 0};
    if (lines_ < 0 || ::poll(&readable, 1, 0) <= 0) return;
    std::array<char, PIPE_BUF> buffer;
    const auto got = ::read(lines_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return give_up_lines(orders);
    silence_ = milliseconds{0};
    unfinished_line_.append(buffer.data(), static_cast<std::size_t>(got));
    for (auto end = unfinished_line_.find('\n'); end != std::string::npos;
         end = unfinished_line_.find('\n')) {
        if (const auto order = cluster::parse_order(std::string_view(unfinished_line_).substr(0, end)))
            orders.push_back(*order);
        unfinished_line_.erase(0, end + 1);
    }
}

/// Time in which this process was suspended, as Slurm suspends whole jobs, is no silence.
void Orders::note_silence(std::vector<Order>& orders) {
    const auto now = std::chrono::steady_clock::now();
    const auto passed = std::chrono::ceil<milliseconds>(now - std::exchange(last_poll_, now));
    if (lines_ < 0) return;
    silence_ += std::min(passed, max_poll);
    if (silence_ >= timeout_) give_up_lines(orders);
}

void Orders::give_up_lines(std::vector<Order>& orders) {
    lines_ = -1;
    orders.push_back({.kind = Order::Kind::end, .signal = SIGTERM});
}

int Orders::ms_to_next_poll() const {
    return lines_ < 0 ? -1 : static_cast<int>(std::min(max_poll, timeout_).count());
}

}  // namespace dtrain::worker
