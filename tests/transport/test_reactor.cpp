// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: an action is called when its descriptor has something to read or room to write, and never
// otherwise.
#include <array>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/reactor.hpp"

namespace dtrain::transport {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
        out = FileDescriptor(ends[0]);
        in = FileDescriptor(ends[1]);
    }
    void write() const { EXPECT_EQ(::write(in.get(), "x", 1), 1); }
    void read() const {
        char byte = 0;
        EXPECT_EQ(::read(out.get(), &byte, 1), 1);
    }
    FileDescriptor out, in;
};

bool is_readable(int fd) {
    pollfd readable{fd, POLLIN, 0};
    return ::poll(&readable, 1, 0) > 0;
}

TEST(Reactor, CallsOnlyWhereSomethingIsToBeDone) {
    Reactor reactor;
    const Pipe first;
    const Pipe second;
    std::vector<int> called;
    reactor.watch(first.out.get(), EPOLLIN, [&](std::uint32_t) { called.push_back(1), first.read(); });
    reactor.watch(second.out.get(), EPOLLIN, [&](std::uint32_t) { called.push_back(2), second.read(); });
    reactor.serve();
    EXPECT_FALSE(is_readable(reactor.fd()));
    second.write();
    EXPECT_TRUE(is_readable(reactor.fd()));
    reactor.serve();
    EXPECT_THAT(called, ElementsAre(2));
    EXPECT_FALSE(is_readable(reactor.fd()));
}

TEST(Reactor, WhatIsWantedCanChange) {
    Reactor reactor;
    const Pipe pipe;
    int calls = 0;
    reactor.watch(pipe.in.get(), EPOLLOUT, [&](std::uint32_t events) {
        EXPECT_EQ(events, EPOLLOUT);
        ++calls;
        reactor.change(pipe.in.get(), 0);
    });
    reactor.serve();
    reactor.serve();
    EXPECT_EQ(calls, 1);
    reactor.change(pipe.in.get(), EPOLLOUT);
    reactor.serve();
    EXPECT_EQ(calls, 2);
}

TEST(Reactor, AnActionMayForgetOthersAndItself) {
    Reactor reactor;
    const Pipe first;
    const Pipe second;
    int calls = 0;
    const auto forget_both = [&](std::uint32_t) {
        ++calls;
        reactor.forget(first.out.get());
        reactor.forget(second.out.get());
    };
    reactor.watch(first.out.get(), EPOLLIN, forget_both);
    reactor.watch(second.out.get(), EPOLLIN, forget_both);
    first.write();
    second.write();
    reactor.serve();
    reactor.serve();
    EXPECT_EQ(calls, 1);
}

TEST(Reactor, TimersGoOnAndWaitingEnds) {
    Reactor reactor;
    int ticks = 0;
    reactor.every(milliseconds(1), [&] { ++ticks; });
    for (int count = 0; ticks < 3 && count < 1000; ++count) reactor.wait(milliseconds(1000));
    EXPECT_EQ(ticks, 3);
    Reactor idle;
    idle.wait(milliseconds(1));
}

TEST(Reactor, TimersGoByTheClockTheyAreGiven) {
    Reactor::Clock::time_point now;
    Reactor reactor([&] { return now; });
    std::vector<int> called;
    reactor.every(milliseconds(1), [&] { called.push_back(1); });
    reactor.every(milliseconds(3), [&] { called.push_back(3); });
    reactor.wait(milliseconds(20));  // of ours nothing has passed
    EXPECT_THAT(called, testing::IsEmpty());
    now += milliseconds(2);
    reactor.serve();
    reactor.serve();
    EXPECT_THAT(called, ElementsAre(1));
    now += milliseconds(1);
    reactor.serve();
    EXPECT_THAT(called, ElementsAre(1, 1, 3));
}

}  // namespace
}  // namespace dtrain::transport
