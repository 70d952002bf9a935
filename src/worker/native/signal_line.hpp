// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <sys/types.h>

/// The line that Paddle's ranks write when somebody ends them; it tells people that the cause is in another
/// log.
namespace dtrain::native {

/// "[SignalInfo: *** SIGTERM (@0x3fe) received by PID 1164 (TID 0x7f6cf1fc6700) from PID 1022 ***]" and a
/// line end, put together without memory of the heap, so that a signal handler may do it.
class SignalLine {
  public:
    /// @param thread as pthread_self names it
    /// @param sender 0: the kernel
    SignalLine(int signal, pid_t receiver, std::uintptr_t thread, pid_t sender) noexcept;

    std::string_view text() const noexcept { return {text_.data(), length_}; }

  private:
    void add(std::string_view text) noexcept;
    void add_number(std::uint64_t number, unsigned base) noexcept;

    std::array<char, 160> text_{};
    std::size_t length_ = 0;
};

/// From now on SIGTERM, SIGINT, SIGHUP and SIGQUIT, where nobody handles or ignores them yet, write that line
/// to stderr and then end this process as they always do.
void announce_ending_signals();

}  // namespace dtrain::native
