// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A head and followers in one thread, with a clock that the test turns; strangers over the loopback network.
// Oracle: the limits of link/timeouts.hpp, and setrlimit(2).
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
#include "link/channel.hpp"
#include "link/follower.hpp"
#include "link/head.hpp"
#include "link/tcp.hpp"
#include "link/timeouts.hpp"
#include "support/message_of.hpp"

namespace dtrain::link {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

using Clock = Reactor::Clock;

FollowerOptions options_of(int node, int port) {
    return {.head = "127.0.0.1",
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
        head_ = std::make_unique<Head>(Head::Options{
            .listener = std::move(listener),
            .key = key,
            .name = "head",
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
    void add_followers(int count) {
        for (int node = 1; node <= count; ++node) {
            const auto& options =
                options_.emplace_back(std::make_unique<FollowerOptions>(options_of(node, port_)));
            followers_.push_back(
                std::make_unique<Following>(*options, connected(), time_to_prove, [this] { return now_; }));
        }
    }

    void serve_all() {
        head_->reactor().serve();
        for (const auto& follower : followers_) follower->reactor().serve();
    }

    std::size_t followers_here() const {
        std::size_t count = 0;
        for (std::size_t node = 1; node <= followers_.size(); ++node)
            count += head_->here(static_cast<int>(node)) ? 1 : 0;
        return count;
    }

    std::size_t followers_lost() const {
        std::size_t count = 0;
        for (const auto& each : followers_) count += each->lost().empty() ? 0 : 1;
        return count;
    }

    void serve_until_all_are_here() {
        for (int round = 0; round < 2000 && followers_here() < followers_.size(); ++round) serve_all();
        ASSERT_EQ(followers_here(), followers_.size());
    }

    int port_ = 0;
    Clock::time_point now_;
    std::unique_ptr<Head> head_;
    std::vector<std::unique_ptr<FollowerOptions>> options_;
    std::vector<std::unique_ptr<Following>> followers_;
};

TEST_F(TimeoutTest, FiveHundredFollowersWaitTenMinutesForTheLastNode) {
    constexpr int max = 500;
    constexpr rlim_t descriptors_of_one = 5;
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const auto before = limit;
    limit.rlim_cur = limit.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    const auto count = std::min<int>(max, static_cast<int>(limit.rlim_cur / descriptors_of_one));
    add_followers(count);
    serve_until_all_are_here();
    constexpr seconds step{20};
    for (auto waited = seconds(0); waited < minutes(10); waited += step) {
        now_ += step;
        serve_all();
    }
    for (int round = 0; round < 2 * max; ++round) head_->reactor().serve();
    EXPECT_EQ(followers_here(), static_cast<std::size_t>(count));
    EXPECT_EQ(followers_lost(), 0u);
    EXPECT_TRUE(head_->lost().empty());
    followers_.clear();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(TimeoutTest, AFollowerThatSaysNothingIsLost) {
    add_followers(2);
    serve_until_all_are_here();
    now_ += max_silence / 2;
    followers_.front()->reactor().serve();
    now_ += max_silence / 2 + seconds(1);
    followers_.front()->reactor().serve();
    for (int round = 0; round < 100; ++round) head_->reactor().serve();
    EXPECT_TRUE(head_->here(1));
    EXPECT_EQ(head_->lost().at(2), "it says nothing any more");
}

TEST_F(TimeoutTest, AHeadThatWasAwayLosesNobodyWhoHasSpokenMeanwhile) {
    add_followers(3);
    serve_until_all_are_here();
    now_ += max_silence - seconds(1);
    for (const auto& follower : followers_) follower->reactor().serve();
    now_ += seconds(30);
    head_->reactor().serve();
    EXPECT_EQ(followers_here(), 3u);
}

TEST_F(TimeoutTest, AFollowerLosesAHeadThatSaysNothing) {
    add_followers(1);
    serve_until_all_are_here();
    now_ += max_silence - seconds(1);
    for (int round = 0; round < 10; ++round) followers_.front()->reactor().serve();
    EXPECT_EQ(followers_.front()->lost(), "");
    now_ += max_silence;
    for (int round = 0; round < 10; ++round) followers_.front()->reactor().serve();
    EXPECT_EQ(followers_.front()->lost(), "it says nothing any more");
    EXPECT_FALSE(followers_.front()->is_stranger());
}

TEST_F(TimeoutTest, WhoProvesNoKeyIsGivenUpByBothSides) {
    const auto silent = listen_at("127.0.0.1", 0);
    const auto options = options_of(1, port_of(silent));
    auto socket = connect_to("127.0.0.1", options.port, seconds(5));
    Following follower(options, std::move(std::get<FileDescriptor>(socket)), time_to_prove,
                       [this] { return now_; });
    const auto stranger = connected();
    for (int round = 0; round < 10; ++round) {
        follower.reactor().serve();
        head_->reactor().wait(milliseconds(20));
    }
    EXPECT_EQ(follower.lost(), "");
    EXPECT_TRUE(follower.is_stranger());
    now_ += time_to_prove + seconds(1);
    follower.reactor().serve();
    head_->reactor().serve();
    EXPECT_THAT(follower.lost(), HasSubstr("has not answered for 5 s"));
    char byte = 0;
    EXPECT_EQ(::recv(stranger.get(), &byte, 1, MSG_DONTWAIT), 0) << "closed";
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

TEST(Follow, AnotherServerIsNoHead) {
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
TEST_F(TimeoutTest, AFollowerGetsInBehindMoreStrangersThanThereAreDescriptors) {
    std::vector<FileDescriptor> strangers;
    for (int count = 0; count < 60; ++count) strangers.push_back(connected());
    add_followers(2);
    for (int count = 0; count < 60; ++count) strangers.push_back(connected());
    const FewDescriptors few(6);
    serve_until_all_are_here();
    EXPECT_EQ(followers_lost(), 0u);
}

TEST_F(TimeoutTest, WithoutADescriptorNothingIsTriedForAWhile) {
    const auto stranger = connected();
    add_followers(1);
    std::optional<FewDescriptors> none(0);
    head_->reactor().serve();
    pollfd ready{head_->reactor().fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, 0), 0) << "it would be woken for ever";
    none.reset();
    now_ += seconds(1);
    serve_until_all_are_here();
}

}  // namespace
}  // namespace dtrain::link
