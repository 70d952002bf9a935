// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: how TCP ends, RFC 9293: who closes a connection with unread data resets it, and what arrived before
// stays readable.
#include <chrono>
#include <optional>
#include <poll.h>
#include <string>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "base/ports.hpp"
#include "keys.hpp"
#include "transport/connection.hpp"
#include "transport/tcp.hpp"

namespace dtrain::transport {
namespace {

class ConnectionTest : public testing::Test {
  protected:
    ConnectionTest() {
        const auto listener = listen_at("127.0.0.1", 0);
        auto socket = connect_to("127.0.0.1", port_of(listener), std::chrono::seconds(5));
        agent_.emplace(std::get<FileDescriptor>(std::move(socket)), Channel::Side::agent, key);
        wait_for(listener.get());
        coordinator_.emplace(accept_from(listener), Channel::Side::coordinator, key);
        while (!agent_->open() || !coordinator_->open()) {
            for (auto* side : {&*agent_, &*coordinator_}) {
                side->write();
                if (side->has_input()) side->read();
            }
        }
    }

    static void wait_for(int fd) {
        pollfd readable{fd, POLLIN, 0};
        ASSERT_EQ(::poll(&readable, 1, 10'000), 1);
    }

    void says(Connection& side, const Message& message) {
        side.send(message);
        ASSERT_TRUE(side.write());
    }

    /// With something unread, so that the agent's kernel gets a reset.
    void coordinator_ends() {
        says(*agent_, Heartbeat{});
        wait_for(coordinator_->fd());
        coordinator_.reset();
        pollfd reset{agent_->fd(), 0, 0};
        ASSERT_EQ(::poll(&reset, 1, 10'000), 1);
    }

    static constexpr const char* killed = "it ended or was killed (its connection is closed)";
    std::optional<Connection> agent_;
    std::optional<Connection> coordinator_;
};

TEST_F(ConnectionTest, AnEndWithUnreadDataIsAnEnd) {
    coordinator_ends();
    EXPECT_FALSE(agent_->read());
    EXPECT_EQ(agent_->reason(), killed);
}

TEST_F(ConnectionTest, WhatWasSaidBeforeTheEndIsHeardAfterWritesThatFail) {
    const JobEnded last{.status = 3, .text = "rank 1 failed"};
    says(*coordinator_, last);
    coordinator_ends();
    for (int time = 0; time < 2; ++time) says(*agent_, Heartbeat{});
    EXPECT_FALSE(agent_->has_output());
    ASSERT_TRUE(agent_->read());
    EXPECT_EQ(agent_->next(), Message(last));
    EXPECT_FALSE(agent_->read());
    EXPECT_EQ(agent_->reason(), killed);
}

}  // namespace
}  // namespace dtrain::transport
