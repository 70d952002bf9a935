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

namespace dtrain::link {

/// Calls whoever waits for a file descriptor. It never waits itself: its own descriptor can be polled, alone
/// or with others, and says when serve() has something to do.
class Reactor {
  public:
    using Action = std::function<void(std::uint32_t events)>;

    Reactor();

    int fd() const { return epoll_.get(); }

    /// @param events EPOLLIN and EPOLLOUT
    void watch(int fd, std::uint32_t events, Action action);
    void change(int fd, std::uint32_t events);
    /// Before the descriptor is closed.
    void forget(int fd);

    /// Calls `action` again and again, as long as the reactor lives.
    void every(std::chrono::milliseconds period, std::function<void()> action);

    void serve();

    /// Waits for something to do, at most so long, and serves it.
    void wait(std::chrono::milliseconds limit);

  private:
    void control(int operation, int fd, std::uint32_t events) const;

    FileDescriptor epoll_;
    std::map<int, std::shared_ptr<Action>> actions_;
    std::list<FileDescriptor> timers_;
};

}  // namespace dtrain::link
