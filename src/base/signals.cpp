// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/signals.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>

namespace dtrain {
namespace {

sigset_t set_of(const std::vector<int>& signals) {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : signals) ::sigaddset(&set, signal);
    return set;
}

}  // namespace

std::vector<int> stop_signals_and(std::vector<int> more) {
    more.insert(more.end(), {SIGTERM, SIGINT, SIGHUP, SIGQUIT});
    return more;
}

void block_signals(const std::vector<int>& signals) {
    const auto set = set_of(signals);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

bool is_waiting(const std::vector<int>& signals) {
    sigset_t waiting;
    ::sigpending(&waiting);
    return std::any_of(signals.begin(), signals.end(),
                       [&](int signal) { return ::sigismember(&waiting, signal) == 1; });
}

SignalSource::SignalSource(const std::vector<int>& signals) {
    block_signals(signals);
    const auto set = set_of(signals);
    fd_ = FileDescriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd_.valid()) throw std::system_error(errno, std::generic_category(), "signalfd");
}

std::optional<TakenSignal> SignalSource::take() const {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return TakenSignal{.number = static_cast<int>(info.ssi_signo),
                       .sender = static_cast<pid_t>(info.ssi_pid)};
}

}  // namespace dtrain
