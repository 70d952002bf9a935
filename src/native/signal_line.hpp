// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <sys/types.h>

/// The line that Paddle's ranks write when they are ended by a signal; it tells the reader that the cause is
/// in another log.
namespace dtrain::native {

/// "[SignalInfo: *** SIGTERM (@0x3fe) received by PID 1164 (TID 0x7f6cf1fc6700) from PID 1022 ***]" and a
/// newline, formatted without heap allocation, so that a signal handler may use it.
class SignalLine {
  public:
    /// @param thread the value of pthread_self
    /// @param sender 0: the kernel
    SignalLine(int signal, pid_t receiver, std::uintptr_t thread, pid_t sender) noexcept;

    std::string_view text() const noexcept { return {text_.data(), length_}; }

  private:
    void add(std::string_view text) noexcept;
    void add_number(std::uint64_t number, unsigned base) noexcept;

    std::array<char, 160> text_{};
    std::size_t length_ = 0;
};

/// Makes SIGTERM, SIGINT, SIGHUP and SIGQUIT, unless already handled or ignored, write that line to stderr
/// and then end this process as by default.
void announce_ending_signals();

}  // namespace dtrain::native
