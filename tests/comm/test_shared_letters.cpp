// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: which ranks are on a node, as the communicator says; the bytes that were written. Runs at 1, 2 and
// 4 ranks, and with several nodes.
#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/environment.hpp>

#include "comm/node_map.hpp"
#include "comm/own_comm.hpp"
#include "comm/post.hpp"
#include "comm/shared_letters.hpp"
#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain::comm {
namespace {

constexpr std::size_t kilobytes = 1024;

struct Node {
    OwnComm world{copy_of(MPI_COMM_WORLD)};
    OwnComm node{
        split_by_node(world, Environment::of_this_process().get_int("DTRAIN_RANKS_PER_NODE").value_or(0))};
    NodeMap map = map_nodes(world, node);
    std::unique_ptr<SharedLetters> letters = SharedLetters::open(node, map);
};

TEST(SharedLetters, AreThoseOfSomeSizesToRanksOfTheNode) {
    const auto post = open_post(test_world());
    const Node of;
    const auto& map = of.map;
    const bool is_alone = map.neighbours().size() == 1;
    for (const auto size : {4095UL, 4096UL, 5000UL, 70'000UL, 1024 * kilobytes, 1024 * kilobytes + 1}) {
        for (int to = 0; to < post->size(); ++to) {
            auto content = post->memory(size);
            std::ranges::fill(content.bytes(), static_cast<std::byte>(post->rank() + 1));
            post->send(to, std::move(content));
        }
        for (int left = post->size(); left > 0;) {
            const auto letter = post->receive();
            if (!letter) continue;
            --left;
            const bool is_near = map.node_of[static_cast<std::size_t>(letter->from)] == map.node;
            EXPECT_EQ(letter->content.is_lent(),
                      is_near && !is_alone && size >= 4096 && size <= 1024 * kilobytes)
                << size << " bytes from rank " << letter->from;
            const auto bytes = letter->content.bytes();
            EXPECT_EQ(std::ranges::count(bytes, static_cast<std::byte>(letter->from + 1)), size);
        }
        while (!post->deliver()) continue;
        test_world().barrier();
    }
}

TEST(SharedLetters, AreAsManyAsThereIsRoomForAndOthersGoByMpi) {
    const auto post = open_post(test_world());
    const int next = (post->rank() + 1) % post->size();
    constexpr int letters = 40;
    for (int number = 0; number < letters; ++number) {
        auto content = post->memory(1024 * kilobytes);
        std::ranges::fill(content.bytes(), static_cast<std::byte>(number));
        post->send(next, std::move(content));
    }
    for (int number = 0; number < letters;) {
        const auto letter = post->receive();
        if (!letter) continue;
        EXPECT_EQ(std::ranges::count(letter->content.bytes(), static_cast<std::byte>(number)),
                  1024 * kilobytes);
        ++number;
    }
    while (!post->deliver()) continue;
    test_world().barrier();
}

TEST(SharedLetters, UseMemoryAgainThatWasGivenBack) {
    Node of;
    if (of.letters == nullptr) GTEST_SKIP() << "nobody shares memory with a rank that is alone on its node";
    for (int i = 0; i < 1000; ++i) {
        auto first = of.letters->memory(200 * kilobytes);
        auto second = of.letters->memory(100 * kilobytes + static_cast<std::size_t>(i));
        ASSERT_TRUE(first && second);
        second->resize(150 * kilobytes);  // beyond its block
        EXPECT_FALSE(second->is_lent());
    }
    EXPECT_LT(of.letters->bytes(), 400 * kilobytes);
    std::vector<LetterBytes> all;
    while (auto one = of.letters->memory(1024 * kilobytes)) all.push_back(std::move(*one));
    EXPECT_GE(all.size(), 1U);
    EXPECT_LE(of.letters->bytes(), 16 * 1024 * kilobytes);
    all.pop_back();
    EXPECT_TRUE(of.letters->memory(900 * kilobytes));
}

TEST(SharedLetters, RefusePlacesThatAreNone) {
    Node of;
    if (of.letters == nullptr) GTEST_SKIP() << "nobody shares memory with a rank that is alone on its node";
    int rank = 0;
    MPI_Comm_rank(of.world, &rank);
    const auto unsent = of.letters->memory(5000);
    ASSERT_TRUE(unsent);
    const auto not_told = of.letters->place_for(rank, *unsent).value();
    for (const SharedLetters::Place place : {SharedLetters::Place{0, 10},
                                             not_told,
                                             {65, 10},
                                             {std::uint64_t{1} << 40U, 10},
                                             {128, std::uint64_t{1} << 40U}})
        EXPECT_THROW(of.letters->letter(rank, place), Error) << place.offset << ' ' << place.size;
    EXPECT_THAT(tests::message_of<Error>([&] {
                    of.letters->letter(rank, {0, 10});
                }),
                testing::StartsWith("rank " + std::to_string(rank) +
                                    " says that a letter of 10 bytes lies at 0 of its "));
    auto sent = of.letters->memory(5000);
    ASSERT_TRUE(sent);
    const auto told = of.letters->place_for(rank, *sent).value();
    std::move(*sent).leave_to_reader();
    EXPECT_THROW(of.letters->letter(rank, {told.offset, std::uint64_t{1} << 40U}), Error)
        << "it was sent, and is not that long";
    EXPECT_EQ(of.letters->letter(rank, told).size(), 5000U);
}

TEST(SharedLetters, LastLongerThanTheirPost) {
    std::optional<Letter> letter;
    {
        const auto post = open_post(test_world());
        auto content = post->memory(9000);
        std::ranges::fill(content.bytes(), std::byte{3});
        post->send((post->rank() + 1) % post->size(), std::move(content));
        while (!letter) letter = post->receive();
        while (!post->deliver()) continue;
        test_world().barrier();
    }
    EXPECT_EQ(std::ranges::count(letter->content.bytes(), std::byte{3}), 9000);
}

}  // namespace
}  // namespace dtrain::comm
