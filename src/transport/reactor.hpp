// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>

#include "base/files.hpp"

namespace dtrain::transport {

/// Dispatches events of file descriptors to actions. serve() never blocks: the reactor's own descriptor can
/// be polled, alone or with others, and is readable when serve() has something to do.
class Reactor {
  public:
    using Action = std::function<void(std::uint32_t events)>;
    using Clock = std::chrono::steady_clock;
    using Now = std::function<Clock::time_point()>;

    /// @param now the current time; with a custom clock, serve() runs what is due by that clock
    explicit Reactor(Now now = Clock::now);

    int fd() const { return epoll_.get(); }
    Clock::time_point now() const { return now_(); }

    /// @param events EPOLLIN and EPOLLOUT
    void watch(int fd, std::uint32_t events, Action action);
    void change(int fd, std::uint32_t events);
    /// Must be called before the descriptor is closed.
    void forget(int fd);

    /// Calls `action` periodically, as long as the reactor lives.
    void every(std::chrono::milliseconds period, std::function<void()> action);

    void serve();

    /// Waits for an event, for at most `limit`, and serves it.
    void wait(std::chrono::milliseconds limit);

  private:
    struct Timer {
        std::chrono::milliseconds period;
        Clock::time_point due;
        std::function<void()> action;
    };

    void control(int operation, int fd, std::uint32_t events) const;
    void serve_timers();
    void set_alarm() const;

    Now now_;
    FileDescriptor epoll_;
    FileDescriptor alarm_;  ///< readable when the next timer is due
    std::map<int, std::shared_ptr<Action>> actions_;
    std::list<Timer> timers_;
};

}  // namespace dtrain::transport
