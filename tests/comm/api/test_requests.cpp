// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: values.hpp for results; the order in which operations were started for everything else.
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/api/values.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;

TEST(Requests, ManyOperationsUnderWayEndInAnyOrder) {
    const auto& world = test_world();
    const auto longest = reduced_values<float>(world.size(), 40'000, Reduction::sum);
    const auto is_sum = [&](std::span<const float> values) {
        return same_bits(values, std::span(longest).first(values.size()));
    };
    std::mt19937 same(3);                                        // on all ranks: what is started
    std::mt19937 own(static_cast<unsigned>(world.rank()) + 50);  // when it is tested and waited for
    struct Sum {
        std::vector<float> values;
        Request request;
    };
    std::deque<Sum> sums;
    for (int round = 0; round < 400; ++round) {
        auto& sum = sums.emplace_back();
        sum.values = values_of<float>(world.rank(), same() % 4 == 0 ? same() % 40'000 : same() % 600);
        sum.request = world.start_allreduce(std::span(sum.values));
        if (own() % 3 == 0) sums[own() % sums.size()].request.test();
        if (own() % 50 == 0) ::usleep(own() % 300);
        // No rank may have more under way than another one will start before it waits.
        while (sums.size() > 80) {
            sums.front().request.wait();
            ASSERT_TRUE(is_sum(sums.front().values));
            sums.pop_front();
        }
    }
    for (auto& sum : sums) {
        sum.request.wait();
        ASSERT_TRUE(is_sum(sum.values));
    }
}

TEST(Requests, EveryOperationCanBeStarted) {
    const auto& world = test_world();
    const auto ranks = static_cast<std::size_t>(world.size());
    const auto own = values_of<double>(world.rank(), 5000 * ranks);
    std::vector<double> part(5000);
    std::vector<double> all(own.size());
    std::vector<double> swapped(own.size());
    std::vector<double> varied(own.size());
    std::vector<double> from_last = values_of<double>(world.rank(), 5000);
    const std::vector<std::size_t> lengths(ranks, 5000);
    std::vector<Request> requests;
    requests.push_back(world.start_reduce_scatter(std::span<const double>(own), std::span(part)));
    requests.push_back(world.start_all_gather(std::span<const double>(own).first(5000), std::span(all)));
    requests.push_back(world.start_all_to_all(std::span<const double>(own), std::span(swapped)));
    requests.push_back(world.start_barrier());
    requests.push_back(
        world.start_all_to_allv(std::span<const double>(own), lengths, std::span(varied), lengths));
    requests.push_back(world.start_broadcast(std::as_writable_bytes(std::span(from_last)), world.size() - 1));
    for (auto request = requests.rbegin(); request != requests.rend(); ++request) request->wait();
    const auto first = static_cast<std::size_t>(world.rank()) * 5000;
    EXPECT_EQ(part, reduced_values<double>(world.size(), part.size(), Reduction::sum, first));
    EXPECT_EQ(from_last, values_of<double>(world.size() - 1, 5000));
    EXPECT_EQ(swapped, varied);
    for (int rank = 0; rank < world.size(); ++rank) {
        const auto at = all.begin() + 5000 * rank;
        EXPECT_EQ(std::vector<double>(at, at + 5000), values_of<double>(rank, 5000));
    }
}

TEST(Requests, MessagesAndSumsDoNotWaitForEachOther) {
    const auto& world = test_world();
    if (world.size() < 2) GTEST_SKIP() << "needs two ranks";
    // Long enough that the sender has to help while the receiver takes it.
    std::vector<std::int64_t> message(500'000, world.rank());
    std::vector<float> sums = values_of<float>(world.rank(), 1000);
    if (world.rank() == 0) {
        const auto sent = world.start_send(std::span<const std::int64_t>(message), 1);
        world.allreduce(std::span(sums));
    } else if (world.rank() == 1) {
        world.receive(std::span(message), 0);
        world.allreduce(std::span(sums));
        EXPECT_EQ(message.back(), 0);
    } else {
        world.allreduce(std::span(sums));
    }
    EXPECT_EQ(sums[7], reduced_value<float>(world.size(), 7, Reduction::sum));
}

TEST(Requests, MessagesOfAnyRankNameTheirSenders) {
    const auto& world = test_world();
    if (world.size() < 2) GTEST_SKIP() << "needs two ranks";
    for (const std::size_t count : {1UL, 5000UL, 300'000UL}) {
        world.barrier();  // no rank sends the longer ones while shorter ones are awaited
        if (world.rank() != 0) {
            world.send(std::span<const int>(values_of<int>(world.rank(), count)), 0, 9);
            continue;
        }
        std::vector<bool> has_come(static_cast<std::size_t>(world.size()));
        for (int message = 1; message < world.size(); ++message) {
            std::vector<int> taken(count);
            int from = -1;
            if (message % 2 == 0) {
                auto request = world.start_receive_any(std::span(taken), from, 9);
                while (!request.test()) {
                }
            } else {
                from = world.receive_any(std::span(taken), 9);
            }
            ASSERT_GT(from, 0);
            ASSERT_LT(from, world.size());
            EXPECT_FALSE(has_come[static_cast<std::size_t>(from)]) << from;
            has_come[static_cast<std::size_t>(from)] = true;
            ASSERT_EQ(taken, values_of<int>(from, count));
        }
    }
    world.barrier();
    std::vector<int> none(1);
    EXPECT_THROW((void)world.receive_any(std::span(none), 32768), Error);
}

TEST(Requests, AWaitHasALimitAndTheOperationGoesOn) {
    const auto& world = test_world();
    if (world.size() < 2) GTEST_SKIP() << "needs two ranks";
    constexpr std::chrono::milliseconds limit(20);
    std::vector<int> word(1);
    auto sums = values_of<float>(world.rank(), 100'000);
    // The others begin when rank 0, which could not end without them, tells them to.
    if (world.rank() == 0) {
        auto answer = world.start_receive(std::span(word), world.size() - 1, 1);
        EXPECT_FALSE(answer.wait_for(limit));
        EXPECT_FALSE(answer.wait_for(std::chrono::seconds(0)));
        auto sum = world.start_allreduce(std::span(sums));
        EXPECT_FALSE(sum.wait_for(limit));
        EXPECT_FALSE(sum.complete());
        for (int other = 1; other < world.size(); ++other) world.send(std::span<const int>(word), other, 1);
        EXPECT_TRUE(sum.wait_for(std::chrono::duration<double>::max()));
        EXPECT_TRUE(sum.complete());
        while (!answer.wait_for(limit)) {
        }
        EXPECT_EQ(word[0], 77);
        EXPECT_TRUE(answer.wait_for(limit)) << "it is complete already";
    } else {
        world.receive(std::span(word), 0, 1);
        world.allreduce(std::span(sums));
        word[0] = 77;
        if (world.rank() == world.size() - 1) world.send(std::span<const int>(word), 0, 1);
    }
    EXPECT_EQ(sums[99], reduced_value<float>(world.size(), 99, Reduction::sum));
}

TEST(Requests, OperationsOfOneCommunicatorGoOnWhileAnotherOneWaits) {
    const auto& world = test_world();
    const auto other = world.duplicate();
    auto sums = values_of<float>(world.rank(), 100'000);
    auto request = other.start_allreduce(std::span(sums));
    if (world.rank() == 0) request.wait();  // needs the others, which wait elsewhere
    world.barrier();
    request.wait();
    EXPECT_EQ(sums[99], reduced_value<float>(world.size(), 99, Reduction::sum));
}

TEST(Requests, WhatSpansNodesGoesOnWhileARankCallsNothing) {
    const auto& world = test_world();
    if (world.nodes() == 1) GTEST_SKIP() << "inside a node nothing is gained by a thread";
    const tests::TemporaryFolder own;
    const std::filesystem::path folder = world.broadcast(own.path().string());
    // Longer than what a socket holds: whoever has nobody who calls MPI for it keeps the others waiting.
    auto sums = values_of<float>(world.rank(), 3'000'000);
    auto request = world.start_allreduce(std::span(sums));
    if (world.rank() == 0) {
        const auto others_are_done = [&] {
            for (int rank = 1; rank < world.size(); ++rank)
                if (!std::filesystem::exists(folder / std::to_string(rank))) return false;
            return true;
        };
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!others_are_done() && std::chrono::steady_clock::now() < end) ::usleep(1000);
        EXPECT_TRUE(others_are_done());
        request.wait();
    } else {
        request.wait();
        std::ofstream(folder / std::to_string(world.rank()));
    }
    EXPECT_EQ(sums[99], reduced_value<float>(world.size(), 99, Reduction::sum));
    world.barrier();
}

TEST(Requests, RanksThatMeanDifferentThingsAreTold) {
    const auto& world = test_world();
    const auto node = world.node_local();
    if (node.size() < 2) GTEST_SKIP() << "needs two ranks on a node";
    std::vector<float> values(node.rank() == 0 ? 8 : 9);
    const auto call = [&] { node.allreduce(std::span(values)); };
    const int last = node.size() - 1;
    EXPECT_THAT(call, testing::ThrowsMessage<Error>(HasSubstr(
                          "ranks differ in operation 1: rank 0 calls allreduce (sum) of 8 float32, " +
                          (last == 1 ? "rank 1 calls" : "ranks 1-" + std::to_string(last) + " call") +
                          " allreduce (sum) of 9 float32")));
    if (last > 1) {
        values.resize(node.rank() == last ? 9 : 8);
        const auto last_rank = std::to_string(last);
        const auto others = std::to_string(last - 1);
        EXPECT_THAT(call,
                    testing::ThrowsMessage<Error>(HasSubstr("ranks differ in operation 2: rank " + last_rank +
                                                            " calls allreduce (sum) of 9 float32, ranks 0-" +
                                                            others + " call allreduce (sum) of 8 float32")))
            << "the fewest first";
        values.resize(node.rank() == 0 ? 8 : 9);
    }
    EXPECT_THROW(node.rank() == 0 ? node.barrier() : node.broadcast(std::span(values)), Error);
    EXPECT_THROW(node.broadcast(std::span(values).first(8), node.rank() == 0 ? 0 : 1), Error);
    node.barrier();  // life goes on
}

TEST(Requests, BuffersThatDoNotFitAreRefusedBeforeAnythingHappens) {
    const auto& world = test_world();
    std::vector<float> some(3);
    std::vector<float> more(3 * static_cast<std::size_t>(world.size()) + 1);
    EXPECT_THROW(world.all_gather(std::span<const float>(some), std::span(more)), Error);
    EXPECT_THROW(world.reduce_scatter(std::span<const float>(more), std::span(some)), Error);
    EXPECT_THROW(world.all_to_all(std::span<const float>(more), std::span(some)), Error);
    EXPECT_THROW(world.send(std::span<const float>(some), world.size()), Error);
    EXPECT_THROW(world.send(std::span<const float>(some), 0, 32768), Error);
    EXPECT_THROW(world.receive(std::span(some), -1), Error);
    const std::vector<std::size_t> wrong(static_cast<std::size_t>(world.size()), 5);
    EXPECT_THROW(world.all_to_allv(std::span<const float>(some), wrong, std::span(some), wrong), Error);
    world.barrier();
}

// Rounding shows in these sums: equal bits mean an equal order of additions.
TEST(Requests, BitsDependNeitherOnTheMemoryNorOnTheMomentNorOnTheRank) {
    const auto& world = test_world();
    for (const std::size_t count : {100UL, 3000UL, 100'000UL, 700'000UL}) {
        const auto shared = world.allocate(count * sizeof(float));
        const auto noise = [&](std::span<float> values) {
            for (std::size_t i = 0; i < count; ++i)
                values[i] = std::sin(0.37F * static_cast<float>(i) + static_cast<float>(world.rank()));
        };
        std::vector<float> own(count);
        noise(own);
        world.allreduce(std::span(own));
        auto of_root = own;
        world.broadcast(std::span(of_root));
        ASSERT_EQ(std::memcmp(own.data(), of_root.data(), count * sizeof(float)), 0);
        for (int round = 0; round < 5; ++round) {
            const auto window = shared.as<float>().first(count);
            noise(window);
            world.allreduce(window);
            ASSERT_EQ(std::memcmp(own.data(), window.data(), count * sizeof(float)), 0);
            std::vector<float> started(count);
            noise(started);
            world.start_allreduce(std::span(started)).wait();
            ASSERT_EQ(std::memcmp(own.data(), started.data(), count * sizeof(float)), 0);
        }
        if (world.node_local().size() != world.size()) continue;
        for (std::size_t i = 0; i < count; i += 101) {
            float sum = std::sin(0.37F * static_cast<float>(i));
            for (int rank = 1; rank < world.size(); ++rank)
                sum += std::sin(0.37F * static_cast<float>(i) + static_cast<float>(rank));
            ASSERT_EQ(own[i], sum) << "ranks of a node are added in their order";
        }
    }
}

TEST(Requests, SumsOfHalvesAreRoundedOnce) {
    const auto& world = test_world();
    if (world.size() < 2) GTEST_SKIP() << "needs two ranks";
    // 2048 + 0.5 + 0.5 ... in float16 stays 2048 when every sum is rounded.
    std::vector<float16> values(100, float16(world.rank() == 0 ? 2048.0F : 0.75F));
    world.allreduce(std::span(values));
    EXPECT_EQ(values[99], float16(2048.0F + 0.75F * static_cast<float>(world.size() - 1)));
}

}  // namespace
}  // namespace dtrain
