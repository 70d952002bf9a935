// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what the header promises, with a real etcd that is killed, frozen and lied to. Nothing is measured;
// what should happen is waited for, and the test's time limit ends a wait that is in vain.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elastic/membership.hpp"
#include "etcd_server.hpp"
#include "is_readable.hpp"

namespace dtrain::elastic {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using tests::EtcdServer;

class MembershipTest : public tests::EtcdTest {
  protected:
    void SetUp() override {
        EtcdTest::SetUp();
        if (!IsSkipped()) server_.emplace();
    }

    MembershipOptions options(const std::string& address) const {
        return {.access = server_->access(),
                .limits = {.connect = milliseconds(500), .request = milliseconds(500)},
                .keys = keys_,
                .self = {.address = address, .host = "test"},
                .lease_seconds = 3,
                .time_to_stop = milliseconds(1000)};
    }

    const JobKeys keys_{"job1"};
    std::optional<EtcdServer> server_;
};

/// Waits until `property` holds of what is seen.
template <class Property>
Seen wait_until(const Membership& membership, const Property& property) {
    for (;;) {
        auto seen = membership.seen();
        if (property(seen)) return seen;
        pollfd source{membership.changed_fd(), POLLIN, 0};
        ::poll(&source, 1, 1000);
    }
}

TEST_F(MembershipTest, NodesSeeEachOtherComeAndGo) {
    const Membership first(options("10.0.0.2"));
    EXPECT_THAT(first.seen().view.names(), ElementsAre("10.0.0.2"));
    {
        const Membership second(options("10.0.0.1"));
        EXPECT_THAT(second.seen().view.names(), ElementsAre("10.0.0.2", "10.0.0.1")) << "by arrival";
        wait_until(first, [](const Seen& seen) { return seen.view.nodes.size() == 2; });
    }
    wait_until(first, [](const Seen& seen) { return seen.view.nodes.size() == 1; });
}

TEST_F(MembershipTest, LaunchersOfOneAddressHaveNamesOfTheirOwn) {
    const Membership first(options("10.0.0.1"));
    const Membership second(options("10.0.0.1"));
    const Membership third(options("10.0.0.1"));
    EXPECT_EQ(first.seen().own_name, "10.0.0.1");
    EXPECT_EQ(second.seen().own_name, "10.0.0.1#2");
    EXPECT_EQ(third.seen().own_name, "10.0.0.1#3");
}

TEST_F(MembershipTest, OneLauncherOfAnAddressMayWaitForTheOther) {
    auto only_one = options("10.0.0.1");
    only_one.one_per_address = true;
    std::optional<Membership> first(std::in_place, only_one);
    std::atomic<bool> second_is_in = false;
    std::thread waiting([&] {
        const Membership second(only_one);
        EXPECT_EQ(second.seen().own_name, "10.0.0.1");
        second_is_in = true;
    });
    std::this_thread::sleep_for(milliseconds(700));
    EXPECT_FALSE(second_is_in);
    first.reset();
    waiting.join();
    EXPECT_TRUE(second_is_in);
}

TEST_F(MembershipTest, EachLauncherHasAMarkAndNoOtherOnesPlace) {
    auto only_one = options("10.0.0.1");
    only_one.one_per_address = true;
    const Membership first(only_one);
    const auto own = *first.seen().view.node("10.0.0.1");
    EXPECT_FALSE(own.launcher.empty());
    EXPECT_TRUE(first.seen().is_own(own));
    EXPECT_NE(Membership(options("10.0.0.1")).seen().own_launcher, own.launcher);

    EtcdClient client(server_->access());
    auto other = own;
    other.launcher = "another";
    client.put(Change::put(keys_.node(own.name), to_json(other)));
    wait_until(first, [](const Seen& seen) { return !seen.is_registered(); });
    EXPECT_FALSE(first.seen().is_own(other));
    client.erase(keys_.node(own.name));
    wait_until(first, [](const Seen& seen) { return seen.is_registered(); });
    EXPECT_EQ(first.seen().view.node(own.name)->launcher, own.launcher) << "of the same process";
}

TEST_F(MembershipTest, ANodeThatIsNotHeardOfGoes) {
    const Membership first(options("10.0.0.1"));
    EtcdClient client(server_->access());
    const auto lease = client.grant(2);
    const Node dying{.name = "10.0.0.9", .address = "10.0.0.9"};
    client.put(Change::put(keys_.node(dying.name), to_json(dying), lease.id));
    wait_until(first, [](const Seen& seen) { return seen.view.node("10.0.0.9") != nullptr; });
    wait_until(first, [](const Seen& seen) { return seen.view.node("10.0.0.9") == nullptr; });
    EXPECT_NE(first.seen().view.node("10.0.0.1"), nullptr);
}

TEST_F(MembershipTest, OneOfTwoBecomesCoordinatorAHundredTimes) {
    Membership a(options("10.0.0.1")), b(options("10.0.0.2"));
    int won_by_a = 0;
    for (int round = 0; round < 100; ++round) {
        std::atomic<int> ready = 0;
        std::array<bool, 2> won{};
        const auto race = [&](Membership& membership, bool& result) {
            ++ready;
            while (ready < 2) std::this_thread::yield();
            result = membership.become_coordinator();
        };
        std::thread other([&] { race(b, won[1]); });
        race(a, won[0]);
        other.join();
        ASSERT_NE(won[0], won[1]) << "round " << round;
        won_by_a += won[0] ? 1 : 0;
        auto& loser = won[0] ? b : a;
        EXPECT_FALSE(loser.write_as_coordinator({Change::put(keys_.start(), "loser")}));
        EXPECT_TRUE((won[0] ? a : b).write_as_coordinator({Change::put(keys_.start(), "winner")}));
        loser.resign();
        EXPECT_TRUE((won[0] ? a : b).seen().is_coordinator()) << "another one's resignation changes nothing";
        (won[0] ? a : b).resign();
    }
    RecordProperty("won_by_the_first", won_by_a);
}

TEST_F(MembershipTest, ACoordinatorThatLeavesMakesRoom) {
    Membership second(options("10.0.0.2"));
    {
        Membership first(options("10.0.0.1"));
        ASSERT_TRUE(first.become_coordinator());
        EXPECT_FALSE(second.become_coordinator());
    }
    wait_until(second, [](const Seen& seen) { return seen.view.coordinator.empty(); });
    EXPECT_TRUE(second.become_coordinator());
}

TEST_F(MembershipTest, TellsWhatItWorksOn) {
    Membership first(options("10.0.0.1"));
    const Membership second(options("10.0.0.2"));
    const auto works_on = [](std::int64_t start) {
        return [start](const Seen& seen) {
            const auto* node = seen.view.node("10.0.0.1");
            return node != nullptr && node->start == start;
        };
    };
    first.work_on(7);
    wait_until(second, works_on(7));
    server_->kill();
    first.work_on(0);  // nobody hears it now
    server_->start();
    wait_until(second, works_on(0));
}

TEST_F(MembershipTest, RidesOutAnEtcdThatIsAway) {
    Membership first(options("10.0.0.1"));
    ASSERT_TRUE(first.become_coordinator());
    server_->kill();
    const auto away = wait_until(first, [](const Seen& seen) { return seen.unavailable_since.has_value(); });
    EXPECT_THAT(away.view.names(), ElementsAre("10.0.0.1")) << "as it was";
    server_->start();
    const auto back = wait_until(first, [](const Seen& seen) { return !seen.unavailable_since; });
    EXPECT_NE(back.view.node("10.0.0.1"), nullptr);
    EXPECT_TRUE(back.is_coordinator());
}

TEST_F(MembershipTest, ComesAgainWhenItWasTakenForLost) {
    Membership first(options("10.0.0.1"));
    Membership second(options("10.0.0.2"));
    ASSERT_TRUE(first.become_coordinator());
    const auto before = first.seen().own_lease;
    second.remove({"10.0.0.1"});
    const auto back = wait_until(first, [&](const Seen& seen) { return seen.own_lease != before; });
    EXPECT_EQ(back.own_name, "10.0.0.1");
    wait_until(second, [](const Seen& seen) { return seen.view.node("10.0.0.1") != nullptr; });
    EXPECT_FALSE(first.seen().is_coordinator()) << "that went with the old lease";
}

TEST_F(MembershipTest, AskingWithALeaseThatIsGoneIsNoError) {
    Membership node(options("10.0.0.1"));
    EtcdClient client(server_->access());
    for (int i = 0; i < 20; ++i) {
        const auto lease = wait_until(node, [](const Seen& seen) {
                               return seen.view.node(seen.own_name) != nullptr;
                           }).own_lease;
        client.revoke(lease);
        // Before the node's own thread has noticed, or after.
        EXPECT_NO_THROW(node.become_coordinator());
        EXPECT_NO_THROW(node.work_on(i + 1));
    }
    wait_until(node, [&](const Seen& seen) { return seen.is_coordinator() || node.become_coordinator(); });
}

TEST_F(MembershipTest, ComesAgainWhicheverOfItsThreadsNotices) {
    Membership membership(options("10.0.0.1"));
    for (int round = 0; round < 50; ++round) {
        const auto before = membership.seen().own_lease;
        membership.remove({"10.0.0.1"});  // looks at once, and the other thread does when etcd tells it
        wait_until(membership, [&](const Seen& seen) {
            return seen.own_lease != before && seen.view.node("10.0.0.1") != nullptr;
        });
    }
}

TEST_F(MembershipTest, TheFenceHoldsWhileTheLeaseIsRenewed) {
    Membership coordinator(options("10.0.0.1"));
    ASSERT_TRUE(coordinator.become_coordinator());
    const StopTimer timer;
    coordinator.set_fence(Membership::Fence{.timer = &timer, .must_stop = [](const Seen&) { return false; }});
    EXPECT_FALSE(is_readable(timer.fd(), 4000)) << "longer than the lease";
}

TEST_F(MembershipTest, TheFenceStopsAJobWhoseCoordinatorIsCutOff) {
    Membership coordinator(options("10.0.0.1"));
    ASSERT_TRUE(coordinator.become_coordinator());
    const StopTimer timer;
    coordinator.set_fence(Membership::Fence{.timer = &timer, .must_stop = [](const Seen&) { return false; }});
    server_->freeze();
    EXPECT_TRUE(is_readable(timer.fd(), -1));
    server_->thaw();
    const auto lease_left = EtcdClient(server_->access()).keep_alive(coordinator.seen().own_lease);
    EXPECT_GT(lease_left.seconds, 0) << "the job was stopped before its lease had run out";
}

TEST_F(MembershipTest, TheFenceStopsAJobWhoseLeaseIsGone) {
    Membership coordinator(options("10.0.0.1"));
    ASSERT_TRUE(coordinator.become_coordinator());
    const StopTimer timer;
    coordinator.set_fence(Membership::Fence{.timer = &timer, .must_stop = [](const Seen&) { return false; }});
    EtcdClient(server_->access()).revoke(coordinator.seen().own_lease);
    EXPECT_TRUE(is_readable(timer.fd(), -1));
}

TEST_F(MembershipTest, TheFenceAsksWhatIsSeen) {
    Membership coordinator(options("10.0.0.1"));
    ASSERT_TRUE(coordinator.become_coordinator());
    const StopTimer timer;
    coordinator.set_fence(Membership::Fence{.timer = &timer, .must_stop = [](const Seen& seen) {
                                                return seen.view.node("10.0.0.2") != nullptr;
                                            }});
    EXPECT_FALSE(is_readable(timer.fd(), 100));
    const Membership second(options("10.0.0.2"));
    EXPECT_TRUE(is_readable(timer.fd(), -1));
}

TEST(Lease, IsLongEnoughToStopTheJobWithin) {
    EXPECT_EQ(Membership::min_lease(60, milliseconds(17'000)), 60);
    EXPECT_GT(Membership::min_lease(10, milliseconds(17'000)), 17);
}

}  // namespace
}  // namespace dtrain::elastic
