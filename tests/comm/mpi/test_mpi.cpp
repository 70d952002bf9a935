// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: sums, maxima and texts computed from the rank numbers alone. Runs at 1 to 4 ranks, on
// one node and on several (DTRAIN_RANKS_PER_NODE).
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/communicator.hpp>

#include "comm/nccl/nccl_bootstrap.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;

std::vector<float> noise(std::size_t count, int rank) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = std::sin(0.37F * static_cast<float>(i) + static_cast<float>(rank));
    return values;
}

TEST(MpiCommunicator, RanksAreNumberedFromZero) {
    const auto& world = test_world();
    ASSERT_GE(world.rank(), 0);
    ASSERT_LT(world.rank(), world.size());
    const auto ranks = world.all_gather(std::int64_t{world.rank()});
    ASSERT_EQ(ranks.size(), static_cast<std::size_t>(world.size()));
    for (std::size_t i = 0; i < ranks.size(); ++i) EXPECT_EQ(ranks[i], static_cast<std::int64_t>(i));
}

TEST(MpiCommunicator, SumsOfEachType) {
    const auto& world = test_world();
    const std::int64_t size = world.size();
    const std::int64_t triangle = size * (size + 1) / 2;  // 1 + 2 + ... + size
    std::vector<float> floats{static_cast<float>(world.rank() + 1), 0.5F};
    std::vector<double> doubles{static_cast<double>(world.rank() + 1), 0.25};
    std::vector<std::int64_t> integers{world.rank() + 1, std::int64_t{1} << 40};
    world.allreduce_sum(std::span(floats));
    world.allreduce_sum(std::span(doubles));
    world.allreduce_sum(std::span(integers));
    EXPECT_EQ(floats[0], static_cast<float>(triangle));
    EXPECT_EQ(floats[1], 0.5F * static_cast<float>(size));
    EXPECT_EQ(doubles[0], static_cast<double>(triangle));
    EXPECT_EQ(doubles[1], 0.25 * static_cast<double>(size));
    EXPECT_EQ(integers[0], triangle);
    EXPECT_EQ(integers[1], size << 40);
}

TEST(MpiCommunicator, SingleValues) {
    const auto& world = test_world();
    const std::int64_t size = world.size();
    EXPECT_EQ(world.sum(std::int64_t{2}), 2 * size);
    EXPECT_EQ(world.sum(1.5), 1.5 * static_cast<double>(size));
    EXPECT_EQ(world.max(std::int64_t{world.rank()}), size - 1);
    EXPECT_EQ(world.max(-0.5 * world.rank()), 0.0);
    EXPECT_EQ(world.min(std::int64_t{10 - world.rank()}), 11 - size);
    EXPECT_TRUE(world.all(true));
    EXPECT_EQ(world.all(world.rank() != 0), false);
}

TEST(MpiCommunicator, StartedSumsRunSideBySide) {
    const auto& world = test_world();
    std::vector<float> first(1000, static_cast<float>(world.rank()));
    std::vector<float> second(300'000, 1.0F);
    auto one = world.start_allreduce_sum(first);
    auto two = world.start_allreduce_sum(second);
    while (!one.test()) {
    }
    two.wait();
    EXPECT_TRUE(one.complete());
    EXPECT_TRUE(two.complete());
    const float ranks = static_cast<float>(world.size() * (world.size() - 1) / 2);
    for (const float value : first) ASSERT_EQ(value, ranks);
    for (const float value : second) ASSERT_EQ(value, static_cast<float>(world.size()));
}

TEST(MpiCommunicator, ARequestThatIsMovedOverOrDroppedIsWaitedFor) {
    const auto& world = test_world();
    std::vector<float> first(5000, 1.0F);
    std::vector<float> second(5000, 2.0F);
    {
        auto request = world.start_allreduce_sum(first);
        request = world.start_allreduce_sum(second);
        EXPECT_EQ(first.back(), static_cast<float>(world.size()));
    }
    EXPECT_EQ(second.back(), 2.0F * static_cast<float>(world.size()));
}

// Rounding shows in these sums, so equal bits mean an equal order of additions.
TEST(MpiCommunicator, SumsHaveTheSameBitsOnEveryRankAndEveryTime) {
    const auto& world = test_world();
    for (const std::size_t count : {1UL, 7UL, 1000UL, 5000UL, 120'000UL, 600'000UL}) {
        for (const bool started : {false, true}) {
            std::vector<float> before;
            for (int round = 0; round < 3; ++round) {
                auto sums = noise(count, world.rank());
                if (started)
                    world.start_allreduce_sum(sums).wait();
                else
                    world.allreduce_sum(std::span(sums));
                for (std::size_t i = 0; i < count; i += 997) {
                    double expected = 0;
                    for (int rank = 0; rank < world.size(); ++rank) {
                        expected += std::sin(0.37F * static_cast<float>(i) + static_cast<float>(rank));
                    }
                    ASSERT_NEAR(sums[i], expected, 1e-5);
                }
                auto of_root = sums;
                world.broadcast(std::span(of_root));
                ASSERT_EQ(std::memcmp(sums.data(), of_root.data(), count * sizeof(float)), 0) << count;
                if (round > 0) {
                    ASSERT_EQ(std::memcmp(sums.data(), before.data(), count * sizeof(float)), 0) << count;
                }
                before = sums;
            }
        }
    }
}

TEST(MpiCommunicator, BroadcastsFromAnyRank) {
    const auto& world = test_world();
    const int last = world.size() - 1;
    std::vector<std::int64_t> values(3, world.rank());
    world.broadcast(std::span(values), last);
    EXPECT_EQ(values, (std::vector<std::int64_t>(3, last)));
    const std::string text = world.rank() == last ? "from the last rank" : "";
    EXPECT_EQ(world.broadcast(text, last), "from the last rank");
    EXPECT_THROW(world.broadcast(std::span(values), world.size()), Error);
}

TEST(MpiCommunicator, GathersTextsOfDifferentLengths) {
    const auto& world = test_world();
    const auto texts = world.all_gather(std::string(static_cast<std::size_t>(world.rank()), 'x'));
    ASSERT_EQ(texts.size(), static_cast<std::size_t>(world.size()));
    for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], std::string(i, 'x'));
}

TEST(MpiCommunicator, AllRanksThrowTheErrorOfTheLowestRank) {
    const auto& world = test_world();
    throw_together(world, std::nullopt);
    const int lowest = world.size() / 2;
    std::optional<std::string> mine;
    if (world.rank() >= lowest) mine = "rank " + std::to_string(world.rank()) + " cannot";
    try {
        throw_together(world, mine);
        FAIL() << "nothing was thrown";
    } catch (const UsageError& error) {
        EXPECT_EQ(std::string(error.what()), "rank " + std::to_string(lowest) + " cannot");
    }
    EXPECT_THROW(throw_together<comm::NcclError>(world, "all"), comm::NcclError);
    world.barrier();  // life goes on
}

TEST(MpiCommunicator, ErrorsOfMpiAreExceptionsWithTheirCode) {
    const auto& world = test_world();
    if (world.size() < 2) GTEST_SKIP() << "needs one rank that sends and one that receives";
    // Rank 0 sends more than rank 1 has room for.
    std::vector<std::int64_t> buffer(world.rank() == 0 ? 8 : 1);
    if (world.rank() == 0) {
        world.send(std::span<const std::int64_t>(buffer), 1);
    } else if (world.rank() == 1) {
        try {
            world.receive(std::span(buffer), 0);
            FAIL() << "a message that is too long was taken";
        } catch (const MpiError& error) {
            EXPECT_NE(error.code().value(), 0);
            EXPECT_EQ(error.code().category(), mpi_category());
            EXPECT_THAT(error.what(), HasSubstr("receive failed: "));
            EXPECT_THAT(error.what(), HasSubstr("truncate"));
        }
    }
    world.barrier();
}

TEST(MpiCommunicator, NcclUniqueIdIsTheSameOnAllRanks) {
    const auto& world = test_world();
    comm::NcclUniqueId id{};
    try {
        id = comm::share_nccl_unique_id(world);
    } catch (const comm::NcclError& error) {
        GTEST_SKIP() << error.what();
    }
    auto of_root = id;
    world.broadcast(std::span(of_root));
    EXPECT_EQ(id, of_root);
    EXPECT_NE(id, comm::NcclUniqueId{});
    EXPECT_NE(comm::share_nccl_unique_id(world), id) << "each call makes a new one";
}

}  // namespace
}  // namespace dtrain
