// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A coordinator and agents in one thread, with a clock that the test turns; strangers over the loopback
// network. Oracle: the limits of transport/timeouts.hpp, and setrlimit(2).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/ports.hpp"
#include "keys.hpp"
#include "support/message_of.hpp"
#include "transport/agent.hpp"
#include "transport/channel.hpp"
#include "transport/coordinator.hpp"
#include "transport/tcp.hpp"
#include "transport/timeouts.hpp"

namespace dtrain::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

using Clock = Reactor::Clock;

AgentOptions options_of(int node, int port) {
    return {.coordinator = "127.0.0.1",
            .port = port,
            .key = key,
            .request = {.wanted_node = node},
            .environment = {},
            .timeout = seconds(1),
            .accepted = {},
            .write_final_line = {},
            .must_leave = {},
            .on_stop = {},
            .holder = {}};
}

class TimeoutTest : public testing::Test {
  protected:
    TimeoutTest() {
        auto listener = listen_at("127.0.0.1", 0);
        port_ = port_of(listener);
        coordinator_ = std::make_unique<Coordinator>(Coordinator::Options{
            .listener = std::move(listener),
            .key = key,
            .name = "coordinator",
            .admit = [](const JoinRequest& request) -> Admission { return request.wanted_node.value_or(1); },
            .arrived = {},
            .now = [this] { return now_; }});
    }

    FileDescriptor connected() const {
        auto out = connect_to("127.0.0.1", port_, seconds(5));
        EXPECT_TRUE(std::holds_alternative<FileDescriptor>(out));
        return std::move(std::get<FileDescriptor>(out));
    }

    /// Of node 1 and so on.
    void add_agents(int count) {
        for (int node = 1; node <= count; ++node) {
            const auto& options =
                options_.emplace_back(std::make_unique<AgentOptions>(options_of(node, port_)));
            agents_.push_back(std::make_unique<Following>(*options, connected(), authentication_timeout,
                                                          [this] { return now_; }));
        }
    }

    void serve_all() {
        coordinator_->reactor().serve();
        for (const auto& agent : agents_) agent->reactor().serve();
    }

    std::size_t agents_connected() const {
        std::size_t count = 0;
        for (std::size_t node = 1; node <= agents_.size(); ++node)
            count += coordinator_->is_connected(static_cast<int>(node)) ? 1 : 0;
        return count;
    }

    std::size_t agents_lost() const {
        std::size_t count = 0;
        for (const auto& each : agents_) count += each->lost().empty() ? 0 : 1;
        return count;
    }

    void serve_until_all_are_connected() {
        for (int round = 0; round < 2000 && agents_connected() < agents_.size(); ++round) serve_all();
        ASSERT_EQ(agents_connected(), agents_.size());
    }

    int port_ = 0;
    Clock::time_point now_;
    std::unique_ptr<Coordinator> coordinator_;
    std::vector<std::unique_ptr<AgentOptions>> options_;
    std::vector<std::unique_ptr<Following>> agents_;
};

TEST_F(TimeoutTest, FiveHundredAgentsWaitTenMinutesForTheLastNode) {
    constexpr int max = 500;
    constexpr rlim_t descriptors_of_one = 5;
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const auto before = limit;
    limit.rlim_cur = limit.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    const auto count = std::min<int>(max, static_cast<int>(limit.rlim_cur / descriptors_of_one));
    add_agents(count);
    serve_until_all_are_connected();
    constexpr seconds step{20};
    for (auto waited = seconds(0); waited < minutes(10); waited += step) {
        now_ += step;
        serve_all();
    }
    for (int round = 0; round < 2 * max; ++round) coordinator_->reactor().serve();
    EXPECT_EQ(agents_connected(), static_cast<std::size_t>(count));
    EXPECT_EQ(agents_lost(), 0u);
    EXPECT_TRUE(coordinator_->lost().empty());
    agents_.clear();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(TimeoutTest, AnAgentThatSaysNothingIsLost) {
    add_agents(2);
    serve_until_all_are_connected();
    now_ += max_silence / 2;
    agents_.front()->reactor().serve();
    now_ += max_silence / 2 + seconds(1);
    agents_.front()->reactor().serve();
    for (int round = 0; round < 100; ++round) coordinator_->reactor().serve();
    EXPECT_TRUE(coordinator_->is_connected(1));
    EXPECT_EQ(coordinator_->lost().at(2), "it says nothing any more");
}

TEST_F(TimeoutTest, ACoordinatorThatWasAwayLosesNobodyWhoHasSpokenMeanwhile) {
    add_agents(3);
    serve_until_all_are_connected();
    now_ += max_silence - seconds(1);
    for (const auto& agent : agents_) agent->reactor().serve();
    now_ += seconds(30);
    coordinator_->reactor().serve();
    EXPECT_EQ(agents_connected(), 3u);
}

TEST_F(TimeoutTest, AnAgentLosesACoordinatorThatSaysNothing) {
    add_agents(1);
    serve_until_all_are_connected();
    now_ += max_silence - seconds(1);
    for (int round = 0; round < 10; ++round) agents_.front()->reactor().serve();
    EXPECT_EQ(agents_.front()->lost(), "");
    now_ += max_silence;
    for (int round = 0; round < 10; ++round) agents_.front()->reactor().serve();
    EXPECT_EQ(agents_.front()->lost(), "it says nothing any more");
    EXPECT_FALSE(agents_.front()->is_unauthenticated());
}

TEST_F(TimeoutTest, WhoProvesNoKeyIsGivenUpByBothSides) {
    const auto silent = listen_at("127.0.0.1", 0);
    const auto options = options_of(1, port_of(silent));
    auto socket = connect_to("127.0.0.1", options.port, seconds(5));
    Following agent(options, std::move(std::get<FileDescriptor>(socket)), authentication_timeout,
                    [this] { return now_; });
    const auto unauthenticated = connected();
    for (int round = 0; round < 10; ++round) {
        agent.reactor().serve();
        coordinator_->reactor().wait(milliseconds(20));
    }
    EXPECT_EQ(agent.lost(), "");
    EXPECT_TRUE(agent.is_unauthenticated());
    now_ += authentication_timeout + seconds(1);
    agent.reactor().serve();
    coordinator_->reactor().serve();
    EXPECT_THAT(agent.lost(), HasSubstr("has not answered for 5 s"));
    char byte = 0;
    EXPECT_EQ(::recv(unauthenticated.get(), &byte, 1, MSG_DONTWAIT), 0) << "closed";
}

TEST(Follow, APortThatSaysNothingIsNamedWithItsHolder) {
    const auto silent = listen_at("127.0.0.1", 0);
    auto options = options_of(1, port_of(silent));
    options.holder = [] { return " (pid 7 (nc))"; };
    const auto begin = Clock::now();
    EXPECT_THAT(tests::message_of([&] { follow(options); }),
                AllOf(HasSubstr("127.0.0.1 port " + std::to_string(options.port)),
                      HasSubstr("accepts connections and has not answered for 1 s"),
                      HasSubstr("another program may have the port (pid 7 (nc))"), HasSubstr("--link-port")));
    EXPECT_LT(Clock::now() - begin, seconds(60)) << "it does not wait for ever";
}

TEST(Follow, AnotherServerIsNoCoordinator) {
    const auto other_server = listen_at("127.0.0.1", 0);
    const auto options = options_of(1, port_of(other_server));
    std::atomic<bool> over = false;
    std::thread server([&] {
        while (!over) {
            const auto socket = accept_from(other_server);
            if (socket.valid()) write_all(socket.get(), "SSH-2.0-OpenSSH_9.2p1\r\n");
            std::this_thread::sleep_for(milliseconds(5));
        }
    });
    EXPECT_THAT(
        tests::message_of([&] { follow(options); }),
        AllOf(HasSubstr("answers as no dtrain-launch"), HasSubstr("another program may have the port")));
    over = true;
    server.join();
}

/// A limit of descriptors that leaves so many free.
class FewDescriptors {
  public:
    explicit FewDescriptors(rlim_t free) {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        const FileDescriptor next(::dup(0));
        auto limit = before_;
        limit.rlim_cur = static_cast<rlim_t>(next.get()) + free;
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;
    ~FewDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

  private:
    rlimit before_{};
};

/// Time does not pass here: nobody is thrown out because he was slow.
TEST_F(TimeoutTest, AnAgentGetsInBehindMoreStrangersThanThereAreDescriptors) {
    std::vector<FileDescriptor> strangers;
    for (int count = 0; count < 60; ++count) strangers.push_back(connected());
    add_agents(2);
    for (int count = 0; count < 60; ++count) strangers.push_back(connected());
    const FewDescriptors few(6);
    serve_until_all_are_connected();
    EXPECT_EQ(agents_lost(), 0u);
}

TEST_F(TimeoutTest, WithoutADescriptorNothingIsTriedForAWhile) {
    const auto unauthenticated = connected();
    add_agents(1);
    std::optional<FewDescriptors> none(0);
    coordinator_->reactor().serve();
    pollfd ready{coordinator_->reactor().fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, 0), 0) << "it would be woken for ever";
    none.reset();
    now_ += seconds(1);
    serve_until_all_are_connected();
}

}  // namespace
}  // namespace dtrain::transport
