// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/signal_line.hpp"

#include <algorithm>
#include <pthread.h>
#include <unistd.h>

#include "base/files.hpp"

namespace dtrain::native {
namespace {

constexpr std::array<int, 4> ending_signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};

std::string_view name_of(int signal) noexcept {
    switch (signal) {
        case SIGTERM:
            return "SIGTERM";
        case SIGINT:
            return "SIGINT";
        case SIGHUP:
            return "SIGHUP";
        case SIGQUIT:
            return "SIGQUIT";
        default:
            return "signal";
    }
}

/// Signal handler: only async-signal-safe calls. The default action is already restored (SA_RESETHAND).
void announce(int signal, siginfo_t* info, void*) {
    const bool sent = info->si_code <= 0;  // sent by a process, not by the kernel
    const SignalLine line(signal, ::getpid(), static_cast<std::uintptr_t>(::pthread_self()),
                          sent ? info->si_pid : 0);
    write_all(STDERR_FILENO, line.text());
    ::raise(signal);
}

}  // namespace

SignalLine::SignalLine(int signal, pid_t receiver, std::uintptr_t thread, pid_t sender) noexcept {
    add("[SignalInfo: *** ");
    add(name_of(signal));
    add(" (@0x");
    add_number(static_cast<std::uint64_t>(sender), 16);
    add(") received by PID ");
    add_number(static_cast<std::uint64_t>(receiver), 10);
    add(" (TID 0x");
    add_number(thread, 16);
    add(") from PID ");
    add_number(static_cast<std::uint64_t>(sender), 10);
    add(" ***]\n");
}

void SignalLine::add(std::string_view text) noexcept {
    const auto fitting = std::min(text.size(), text_.size() - length_);
    std::copy_n(text.begin(), fitting, text_.begin() + static_cast<std::ptrdiff_t>(length_));
    length_ += fitting;
}

void SignalLine::add_number(std::uint64_t number, unsigned base) noexcept {
    std::array<char, 20> digits{};
    std::size_t first = digits.size();
    do {
        digits[--first] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    add({digits.data() + first, digits.size() - first});
}

void announce_ending_signals() {
    struct sigaction announcing {};
    announcing.sa_sigaction = announce;
    announcing.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER;
    for (const int signal : ending_signals) {
        struct sigaction before {};
        const bool untouched = ::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL;
        if (untouched) ::sigaction(signal, &announcing, nullptr);
    }
}

}  // namespace dtrain::native
