// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: when Paddle's elastic jobs start, wait, stop and give up (legacy: as many hosts as np, or the most
// of a range at once, or at least the fewest after the timeout; 2.4 and later: give up after it); by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elastic/decision.hpp"

namespace dtrain::elastic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using What = Decision::What;
using std::chrono::seconds;

const Policy two{.wanted = {2, 2}, .settle = seconds(30)};
const Policy two_to_four{.wanted = {2, 4}, .settle = seconds(30)};

TEST(Waiting, StartsWhenAllAreThere) {
    EXPECT_EQ(decide_waiting(two, {.alive = {"a"}}).what, What::wait);
    EXPECT_THAT(decide_waiting(two, {.alive = {"a"}}).reason, HasSubstr("not ready for np 2 with hosts [a]"));
    const auto start = decide_waiting(two, {.alive = {"a", "b"}});
    EXPECT_EQ(start.what, What::start) << "at once";
    EXPECT_THAT(start.order, ElementsAre("a", "b"));
    EXPECT_EQ(start.reason, "ready with hosts [a,b]");
}

TEST(Waiting, StartsWithTheFewestOfARangeOnceNobodyComesAnyMore) {
    const std::vector<std::string> three{"a", "b", "c"};
    EXPECT_EQ(decide_waiting(two_to_four, {.alive = three, .unchanged = seconds(29)}).what, What::wait);
    EXPECT_EQ(decide_waiting(two_to_four, {.alive = three, .unchanged = seconds(30)}).what, What::start);
    EXPECT_EQ(decide_waiting(two_to_four, {.alive = {"a"}, .unchanged = seconds(900)}).what, What::wait);
    EXPECT_EQ(decide_waiting(two_to_four, {.alive = {"a", "b", "c", "d"}}).what, What::start);
}

TEST(Waiting, MoreThanWantedAreSpare) {
    EXPECT_THAT(decide_waiting(two, {.alive = {"x", "a", "b"}, .previous = {"a", "b"}}).order,
                ElementsAre("a", "b"));
}

TEST(Waiting, WaitsForNodesThatHaveNotFinished) {
    const auto busy = decide_waiting(two, {.alive = {"a", "b"}, .busy = {"b"}});
    EXPECT_EQ(busy.what, What::wait);
    EXPECT_THAT(busy.reason, HasSubstr("b"));
    EXPECT_EQ(decide_waiting(two, {.alive = {"a", "b", "c"}, .busy = {"c"}}).what, What::start)
        << "a spare one does not matter";
}

TEST(Waiting, GivesUpOnlyWhereThereIsTimeout) {
    Nodes one{.alive = {"a"}, .unchanged = seconds(300)};
    EXPECT_EQ(decide_waiting(two, one).what, What::wait);
    auto impatient = two;
    impatient.timeout = seconds(300);
    const auto given_up = decide_waiting(impatient, one);
    EXPECT_EQ(given_up.what, What::give_up);
    EXPECT_THAT(given_up.reason, HasSubstr("peer not ready"));
    one.unchanged = seconds(299);
    EXPECT_EQ(decide_waiting(impatient, one).what, What::wait);
}

TEST(Running, GoesOnWhileItsNodesAreThere) {
    EXPECT_EQ(decide_running(two, {.alive = {"b", "a"}, .previous = {"a", "b"}}).what, What::wait);
    EXPECT_EQ(decide_running(two, {.alive = {"b", "a", "spare"}, .previous = {"a", "b"}}).what, What::wait);
}

TEST(Running, ANodeThatLeavesStopsIt) {
    for (const auto level : {Level::hold, Level::again}) {
        auto policy = two;
        policy.level = level;
        const auto stop = decide_running(policy, {.alive = {"a"}, .previous = {"a", "b"}});
        EXPECT_EQ(stop.what, What::stop);
        EXPECT_EQ(stop.reason, "b left");
    }
    auto off = two;
    off.level = Level::off;
    EXPECT_EQ(decide_running(off, {.alive = {"a"}, .previous = {"a", "b"}}).what, What::give_up);
}

TEST(Running, NewcomersStopItOnceItCouldStartWithThem) {
    Nodes joined{.alive = {"a", "b", "c"}, .previous = {"a", "b"}, .unchanged = seconds(1)};
    EXPECT_EQ(decide_running(two_to_four, joined).what, What::wait) << "one more may come";
    joined.unchanged = seconds(30);
    EXPECT_EQ(decide_running(two_to_four, joined).what, What::stop);
    joined.alive.push_back("d");
    joined.unchanged = seconds(0);
    EXPECT_EQ(decide_running(two_to_four, joined).what, What::stop) << "all are there";
}

TEST(Running, FollowsAChangedNumberOfNodes) {
    EXPECT_EQ(decide_running(two, {.alive = {"a", "b", "c"}, .previous = {"a", "b", "c"}}).what, What::stop);
    const Policy three{.wanted = {3, 3}, .settle = seconds(30)};
    EXPECT_EQ(
        decide_running(three, {.alive = {"a", "b"}, .previous = {"a", "b"}, .unchanged = seconds(99)}).what,
        What::wait)
        << "it goes on until the third is there";
    EXPECT_EQ(decide_running(three, {.alive = {"a", "b", "c"}, .previous = {"a", "b"}}).what, What::stop);
}

TEST(Running, WhatItStopsForCanStart) {
    for (int alive = 0; alive <= 5; ++alive)
        for (int running = 1; running <= 4; ++running)
            for (const auto& policy : {two, two_to_four})
                for (const auto unchanged : {seconds(0), seconds(60)}) {
                    Nodes nodes{.unchanged = unchanged};
                    for (int node = 0; node < alive; ++node)
                        nodes.alive.push_back("n" + std::to_string(node));
                    for (int node = 0; node < running; ++node)
                        nodes.previous.push_back("n" + std::to_string(node));
                    const bool all_alive = running <= alive;
                    if (all_alive && decide_running(policy, nodes).what == What::stop) {
                        EXPECT_EQ(decide_waiting(policy, nodes).what, What::start) << alive << " " << running;
                    }
                }
}

}  // namespace
}  // namespace dtrain::elastic
