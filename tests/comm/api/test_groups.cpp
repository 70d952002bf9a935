// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the rank numbers, and DTRAIN_RANKS_PER_NODE where it is set.
#include <cstdlib>
#include <numeric>
#include <sys/statvfs.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/api/values.hpp"
#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

int ranks_per_node() {
    const char* value = std::getenv("DTRAIN_RANKS_PER_NODE");
    const int number = value == nullptr ? 0 : std::atoi(value);
    return number == 0 ? test_world().size() : number;
}

TEST(Groups, SplitByColourAndKey) {
    const auto& world = test_world();
    const auto half = world.split(world.rank() % 2, -world.rank());
    const int others = (world.size() + 1 - world.rank() % 2) / 2;
    ASSERT_EQ(half.size(), others);
    EXPECT_EQ(half.rank(), others - 1 - world.rank() / 2) << "the key turns the order round";
    const auto members = half.all_gather(std::int64_t{world.rank()});
    for (std::size_t i = 0; i < members.size(); ++i)
        EXPECT_EQ(members[i], world.rank() % 2 + 2 * (others - 1 - static_cast<int>(i)));
    EXPECT_THROW((void)world.split(-1, 0), Error);
}

TEST(Groups, SubsetsAreMadeByTheirRanksAloneInTheOrderOfTheList) {
    const auto& world = test_world();
    // The ranks from the last one to this one: rank r makes r + 1 of them, alone or with others.
    for (int first = 0; first < world.size(); ++first) {
        if (world.rank() < first) continue;
        std::vector<int> ranks(static_cast<std::size_t>(world.size() - first));
        std::iota(ranks.rbegin(), ranks.rend(), first);
        const auto part = world.subset(ranks, first);
        ASSERT_EQ(part.size(), world.size() - first);
        EXPECT_EQ(part.rank(), world.size() - 1 - world.rank());
        const auto members = part.all_gather(std::int64_t{world.rank()});
        EXPECT_EQ(std::vector<int>(members.begin(), members.end()), ranks);
        auto sums = values_of<float>(part.rank(), 20'000);
        part.allreduce(std::span(sums));
        EXPECT_EQ(sums[999], reduced_value<float>(part.size(), 999, Reduction::sum));
        EXPECT_EQ(part.subset(std::vector{part.rank()}).size(), 1);
    }
    world.barrier();
}

TEST(Groups, SubsetsOfOtherRanksAreMadeAtTheSameTime) {
    const auto& world = test_world();
    const int neighbour = world.rank() ^ 1;
    if (neighbour >= world.size()) return world.barrier();
    const auto pair =
        world.subset(std::vector{std::min(world.rank(), neighbour), std::max(world.rank(), neighbour)});
    EXPECT_EQ(pair.sum(std::int64_t{world.rank()}), world.rank() + neighbour);
    world.barrier();
}

TEST(Groups, SubsetsThatAreNoneAreRefused) {
    const auto& world = test_world();
    EXPECT_EQ(message_of([&] {
                  (void)world.subset(std::vector{world.rank(), world.size()});
              }),
              "subset with rank " + std::to_string(world.size()) + ": ranks are 0 to " +
                  std::to_string(world.size() - 1));
    EXPECT_THAT(message_of([&] {
                    (void)world.subset(std::vector{world.rank(), world.rank()});
                }),
                HasSubstr(" twice"));
    EXPECT_THAT(message_of([&] { (void)world.subset({}); }), HasSubstr("only listed ranks do"));
    EXPECT_THAT(message_of([&] { (void)world.subset(std::vector{world.rank()}, 32768); }),
                HasSubstr("tags are 0 to 32767"));
    world.barrier();
}

TEST(Groups, RanksThatMeanOtherSubsetsAreTold) {
    const auto& world = test_world();
    if (world.size() < 2) GTEST_SKIP() << "needs two ranks";
    std::vector<int> ranks(static_cast<std::size_t>(world.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    EXPECT_THAT(message_of<Error>([&] { (void)world.subset(ranks, world.rank() == 1 ? 4 : 5); }),
                HasSubstr("subset: rank 1 passes another list of ranks, or another tag, than rank 0 does"));
    EXPECT_EQ(world.subset(ranks, 5).size(), world.size());
    if (world.size() == 2) return;
    auto other = ranks;
    std::swap(other[1], other[2]);
    const bool differs = world.rank() == world.size() - 1;
    EXPECT_THAT(message_of<Error>([&] { (void)world.subset(differs ? other : ranks); }),
                HasSubstr("subset: rank " + std::to_string(world.size() - 1) + " passes another"));
}

TEST(Groups, NodesAndWhatCrossesThem) {
    const auto& world = test_world();
    const int per_node = ranks_per_node();
    const auto node = world.node_local();
    const int first = world.rank() / per_node * per_node;
    EXPECT_EQ(node.rank(), world.rank() - first);
    EXPECT_EQ(node.size(), std::min(per_node, world.size() - first));
    const auto across = world.cross_node();
    EXPECT_EQ(across.rank(), world.rank() / per_node);
    const auto members = across.all_gather(std::int64_t{world.rank()});
    for (std::size_t i = 0; i < members.size(); ++i)
        EXPECT_EQ(members[i], static_cast<int>(i) * per_node + node.rank());
    const int nodes = (world.size() + per_node - 1) / per_node;
    EXPECT_THAT(world.describe(), HasSubstr(" on " + std::to_string(nodes) + " node"));
    EXPECT_EQ(world.describe().find("ring") != std::string::npos, nodes > 1);
}

TEST(Groups, SharedMemoryIsSeenByTheRanksOfTheNode) {
    const auto& world = test_world();
    const int per_node = ranks_per_node();
    const auto shared = world.allocate(100 * sizeof(std::int64_t));
    const auto own = shared.as<std::int64_t>();
    ASSERT_EQ(own.size(), 100U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(own.data()) % 4096, 0U);
    for (const auto value : own) ASSERT_EQ(value, 0);
    std::iota(own.begin(), own.end(), world.rank() * 1000);
    world.barrier();
    for (int rank = 0; rank < world.size(); ++rank) {
        const bool same_node = rank / per_node == world.rank() / per_node;
        ASSERT_EQ(shared.reaches(rank), same_node);
        if (same_node) {
            EXPECT_EQ(shared.of_rank_as<std::int64_t>(rank)[42], rank * 1000 + 42);
        } else {
            EXPECT_THROW((void)shared.of_rank(rank), Error);
        }
    }
    EXPECT_THROW((void)shared.of_rank(world.size()), Error);
    EXPECT_FALSE(shared.reaches(-1));
}

TEST(Groups, RanksMayAllocateDifferentLengths) {
    const auto& world = test_world();
    const auto shared = world.allocate(world.rank() == 0 ? 1'000'000 : 0);
    EXPECT_EQ(shared.bytes().size(), world.rank() == 0 ? 1'000'000U : 0U);
    if (!shared.reaches(0)) return world.barrier();
    if (world.rank() == 0) shared.bytes()[999'999] = std::byte{7};
    world.barrier();
    EXPECT_EQ(shared.of_rank(0)[999'999], std::byte{7});
}

std::size_t free_shared_memory() {
    struct statvfs space {};
    return ::statvfs("/dev/shm", &space) == 0 ? space.f_bavail * space.f_frsize : 0;
}

TEST(Groups, MemoryIsGivenBackWhenAllRanksHaveDroppedIt) {
    const auto& world = test_world();
    constexpr std::size_t bytes = std::size_t{4} << 20U;
    const auto before = free_shared_memory();
    for (int round = 0; round < 20; ++round) {
        const auto shared = world.allocate(bytes);
        shared.as<int>()[0] = round;
    }
    const auto ranks = static_cast<std::size_t>(world.size());
    EXPECT_GT(free_shared_memory() + 8 * bytes * ranks, before) << "of 20 times " << bytes * ranks;
    SharedBuffer kept = world.allocate(4096);
    kept.as<int>()[0] = world.rank();
    for (int round = 0; round < 3; ++round) (void)world.allocate(4096);
    EXPECT_EQ(kept.as<int>()[0], world.rank());
}

TEST(Groups, TooMuchMemoryIsRefusedOnAllRanks) {
    const auto& world = test_world();
    if (world.node_local().size() != world.size() || world.size() == 1) GTEST_SKIP() << "needs one node";
    try {
        (void)world.allocate(std::size_t{1} << 50U);
        FAIL() << "a petabyte was given";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("/dev/shm"));
    }
    world.barrier();
}

TEST(Groups, OtherCommunicatorsKnowTheMemoryAgain) {
    const auto& world = test_world();
    SharedBuffer shared;
    {
        const auto other = world.duplicate();
        shared = other.allocate(100'000 * sizeof(float));
    }
    const auto buffer = shared.as<float>();
    for (const auto& communicator : {world, world.split(world.rank() / 2, 0)}) {
        fill(buffer, communicator.rank());
        communicator.allreduce(buffer);
        for (std::size_t i = 0; i < buffer.size(); i += 997)
            ASSERT_EQ(buffer[i], reduced_value<float>(communicator.size(), i, Reduction::sum));
    }
}

}  // namespace
}  // namespace dtrain
