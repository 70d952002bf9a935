// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/reactor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace dtrain::transport {
namespace {

constexpr int events_at_once = 64;

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Reactor::Reactor(Now now) : now_(std::move(now)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_.valid()) fail("cannot wait for connections");
}

void Reactor::control(int operation, int fd, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    if (::epoll_ctl(epoll_.get(), operation, fd, &event) != 0) fail("cannot wait for a connection");
}

void Reactor::watch(int fd, std::uint32_t events, Action action) {
    control(EPOLL_CTL_ADD, fd, events);
    actions_[fd] = std::make_shared<Action>(std::move(action));
}

void Reactor::change(int fd, std::uint32_t events) {
    control(EPOLL_CTL_MOD, fd, events);
}

void Reactor::forget(int fd) {
    if (actions_.erase(fd) > 0) control(EPOLL_CTL_DEL, fd, 0);
}

void Reactor::every(std::chrono::milliseconds period, std::function<void()> action) {
    timers_.push_back({.period = period, .due = now() + period, .action = std::move(action)});
    if (!alarm_.valid()) {
        alarm_ = FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
        if (!alarm_.valid()) fail("cannot make a timer");
        watch(alarm_.get(), EPOLLIN, [fd = alarm_.get()](std::uint32_t) {
            std::uint64_t times = 0;
            [[maybe_unused]] const auto ignored = ::read(fd, &times, sizeof times);
        });
    }
    set_alarm();
}

void Reactor::set_alarm() const {
    const auto next = std::min_element(timers_.begin(), timers_.end(),
                                       [](const Timer& a, const Timer& b) { return a.due < b.due; });
    const auto left = std::max(next->due - now(), Clock::duration(1));  // 0 would disarm the timer
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds);
    const itimerspec times{.it_interval = {},
                           .it_value = {.tv_sec = seconds.count(), .tv_nsec = rest.count()}};
    if (::timerfd_settime(alarm_.get(), 0, &times, nullptr) != 0) fail("cannot set a timer");
}

void Reactor::serve_timers() {
    bool any = false;
    for (auto& timer : timers_) {
        if (now() < timer.due) continue;
        timer.due = now() + timer.period;
        timer.action();
        any = true;
    }
    if (any) set_alarm();
}

void Reactor::serve() {
    std::array<epoll_event, events_at_once> ready{};
    const int count = ::epoll_wait(epoll_.get(), ready.data(), events_at_once, 0);
    for (int i = 0; i < count; ++i) {
        const auto& event = ready[static_cast<std::size_t>(i)];
        const auto found = actions_.find(event.data.fd);
        if (found == actions_.end()) continue;  // another action of this round has called forget() for it
        const auto action = found->second;      // a copy, because the action may call forget() for itself
        (*action)(event.events);
    }
    serve_timers();
}

void Reactor::wait(std::chrono::milliseconds limit) {
    pollfd own{epoll_.get(), POLLIN, 0};
    if (::poll(&own, 1, static_cast<int>(limit.count())) > 0) serve();
}

}  // namespace dtrain::transport
