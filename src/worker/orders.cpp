// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/orders.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace dtrain::worker {
namespace {

using cluster::Order;
using std::chrono::milliseconds;

constexpr milliseconds longest_look{5000};

sigset_t watched_signals(Orders::Source source) {
    sigset_t watched;
    ::sigemptyset(&watched);
    if (source == Orders::Source::signals_in_step) ::sigaddset(&watched, SIGURG);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM})
        ::sigaddset(&watched, signal);
    return watched;
}

bool is_slurmstepd(std::uint32_t pid) {
    return read_file(fmt::format("/proc/{}/comm", pid)) == "slurmstepd\n";
}

}  // namespace

void hold_signals(Orders::Source source) {
    const auto watched = watched_signals(source);
    ::sigprocmask(SIG_BLOCK, &watched, nullptr);
}

Orders::Orders(Source source, milliseconds patience)
    : lines_(source == Source::signals_and_stdin ? STDIN_FILENO : -1), patience_(patience) {
    hold_signals(source);
    const auto watched = watched_signals(source);
    signals_ = FileDescriptor(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::array<pollfd, 2> Orders::sources() const {
    return {{{signals_.get(), POLLIN, 0}, {lines_, POLLIN, 0}}};
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
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
        const int signal = static_cast<int>(info.ssi_signo);
        if (signal == SIGUSR1 || signal == SIGUSR2) {
            if (!is_slurmstepd(info.ssi_pid))
                orders.push_back({.kind = Order::Kind::pass_on, .signal = signal});
        } else if (signal == SIGURG)
            orders.push_back({.kind = Order::Kind::give_way});
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
    const auto passed = std::chrono::ceil<milliseconds>(now - std::exchange(last_look_, now));
    if (lines_ < 0) return;
    silence_ += std::min(passed, longest_look);
    if (silence_ >= patience_) give_up_lines(orders);
}

void Orders::give_up_lines(std::vector<Order>& orders) {
    lines_ = -1;
    orders.push_back({.kind = Order::Kind::end, .signal = SIGTERM});
}

int Orders::ms_to_next_look() const {
    return lines_ < 0 ? -1 : static_cast<int>(std::min(longest_look, patience_).count());
}

}  // namespace dtrain::worker
