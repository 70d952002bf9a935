// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: which ranks are on a node, as the communicator says; the bytes that were written. Runs at 1, 2 and
// 4 ranks, and with several nodes.
#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/environment.hpp>

#include "comm/message/shared_messages.hpp"
#include "comm/message/transport.hpp"
#include "comm/mpi/own_comm.hpp"
#include "comm/node/node_map.hpp"
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
    std::unique_ptr<SharedMessages> messages = SharedMessages::open(node, map);
};

TEST(SharedMessages, AreThoseOfSomeSizesToRanksOfTheNode) {
    const auto transport = open_transport(test_world());
    const Node of;
    const auto& map = of.map;
    const bool is_alone = map.neighbours().size() == 1;
    for (const auto size : {4095UL, 4096UL, 5000UL, 70'000UL, 1024 * kilobytes, 1024 * kilobytes + 1}) {
        for (int to = 0; to < transport->size(); ++to) {
            auto content = transport->memory(size);
            std::ranges::fill(content.bytes(), static_cast<std::byte>(transport->rank() + 1));
            transport->send(to, std::move(content));
        }
        for (int left = transport->size(); left > 0;) {
            const auto message = transport->receive();
            if (!message) continue;
            --left;
            const bool is_near = map.node_of[static_cast<std::size_t>(message->from)] == map.node;
            EXPECT_EQ(message->content.is_lent(),
                      is_near && !is_alone && size >= 4096 && size <= 1024 * kilobytes)
                << size << " bytes from rank " << message->from;
            const auto bytes = message->content.bytes();
            EXPECT_EQ(std::ranges::count(bytes, static_cast<std::byte>(message->from + 1)), size);
        }
        while (!transport->deliver()) continue;
        test_world().barrier();
    }
}

TEST(SharedMessages, AreAsManyAsThereIsRoomForAndOthersGoByMpi) {
    const auto transport = open_transport(test_world());
    const int next = (transport->rank() + 1) % transport->size();
    constexpr int messages = 40;
    for (int number = 0; number < messages; ++number) {
        auto content = transport->memory(1024 * kilobytes);
        std::ranges::fill(content.bytes(), static_cast<std::byte>(number));
        transport->send(next, std::move(content));
    }
    for (int number = 0; number < messages;) {
        const auto message = transport->receive();
        if (!message) continue;
        EXPECT_EQ(std::ranges::count(message->content.bytes(), static_cast<std::byte>(number)),
                  1024 * kilobytes);
        ++number;
    }
    while (!transport->deliver()) continue;
    test_world().barrier();
}

TEST(SharedMessages, UseMemoryAgainThatWasGivenBack) {
    Node of;
    if (of.messages == nullptr) GTEST_SKIP() << "nobody shares memory with a rank that is alone on its node";
    for (int i = 0; i < 1000; ++i) {
        auto first = of.messages->memory(200 * kilobytes);
        auto second = of.messages->memory(100 * kilobytes + static_cast<std::size_t>(i));
        ASSERT_TRUE(first && second);
        second->resize(150 * kilobytes);  // beyond its block
        EXPECT_FALSE(second->is_lent());
    }
    EXPECT_LT(of.messages->bytes(), 400 * kilobytes);
    std::vector<MessageBytes> all;
    while (auto one = of.messages->memory(1024 * kilobytes)) all.push_back(std::move(*one));
    EXPECT_GE(all.size(), 1U);
    EXPECT_LE(of.messages->bytes(), 16 * 1024 * kilobytes);
    all.pop_back();
    EXPECT_TRUE(of.messages->memory(900 * kilobytes));
}

TEST(SharedMessages, RefuseLocationsOfNoMessage) {
    Node of;
    if (of.messages == nullptr) GTEST_SKIP() << "nobody shares memory with a rank that is alone on its node";
    int rank = 0;
    MPI_Comm_rank(of.world, &rank);
    const auto unsent = of.messages->memory(5000);
    ASSERT_TRUE(unsent);
    const auto unsent_location = of.messages->location_for(rank, *unsent).value();
    for (const SharedMessages::Location location : {SharedMessages::Location{0, 10},
                                                    unsent_location,
                                                    {65, 10},
                                                    {std::uint64_t{1} << 40U, 10},
                                                    {128, std::uint64_t{1} << 40U}})
        EXPECT_THROW(of.messages->message(rank, location), Error) << location.offset << ' ' << location.size;
    EXPECT_THAT(tests::message_of<Error>([&] {
                    of.messages->message(rank, {0, 10});
                }),
                testing::StartsWith("rank " + std::to_string(rank) +
                                    " says that a message of 10 bytes lies at 0 of its "));
    auto sent = of.messages->memory(5000);
    ASSERT_TRUE(sent);
    const auto sent_location = of.messages->location_for(rank, *sent).value();
    std::move(*sent).leave_to_reader();
    EXPECT_THROW(of.messages->message(rank, {sent_location.offset, std::uint64_t{1} << 40U}), Error)
        << "it was sent, and is not that long";
    EXPECT_EQ(of.messages->message(rank, sent_location).size(), 5000U);
}

TEST(SharedMessages, LastLongerThanTheirTransport) {
    std::optional<Message> message;
    {
        const auto transport = open_transport(test_world());
        auto content = transport->memory(9000);
        std::ranges::fill(content.bytes(), std::byte{3});
        transport->send((transport->rank() + 1) % transport->size(), std::move(content));
        while (!message) message = transport->receive();
        while (!transport->deliver()) continue;
        test_world().barrier();
    }
    EXPECT_EQ(std::ranges::count(message->content.bytes(), std::byte{3}), 9000);
}

}  // namespace
}  // namespace dtrain::comm
