// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/stop_timer.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/timerfd.h>
#include <system_error>

namespace dtrain::elastic {
namespace {

timespec to_timespec(std::chrono::nanoseconds time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    return {.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
}

void set(int timer, const itimerspec& times) {
    if (::timerfd_settime(timer, TFD_TIMER_ABSTIME, &times, nullptr) != 0)
        throw std::system_error(errno, std::generic_category(), "timerfd_settime");
}

}  // namespace

StopTimer::StopTimer() : timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (!timer_.valid()) throw std::system_error(errno, std::generic_category(), "timerfd_create");
}

bool StopTimer::has_reported() const {
    pollfd readable{timer_.get(), POLLIN, 0};
    return ::poll(&readable, 1, 0) > 0;
}

void StopTimer::stop_at(BootClock::time_point when, std::chrono::milliseconds grace) const {
    constexpr std::chrono::nanoseconds min{1};  // 0 would disarm the timer
    set(timer_.get(), {.it_interval = to_timespec(std::max<std::chrono::nanoseconds>(grace, min)),
                       .it_value = to_timespec(std::max(when.time_since_epoch(), min))});
}

void StopTimer::stop_now(std::chrono::milliseconds grace) const {
    stop_at(BootClock::now(), grace);
}

void StopTimer::never() const {
    set(timer_.get(), {});
}

}  // namespace dtrain::elastic
