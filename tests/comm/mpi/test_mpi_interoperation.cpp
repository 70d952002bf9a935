// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: MPI's own view of the same ranks (MPI_Comm_rank, MPI_Comm_size, MPI_Comm_compare, MPI_Allreduce),
// and sums of rank numbers.
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <dtrain/mpi.hpp>

#include "support/test_world.hpp"

namespace dtrain {
namespace {

/// Rank and size as MPI tells them.
struct Position {
    int rank = -1;
    int size = -1;
    friend bool operator==(const Position&, const Position&) = default;
};

Position position_in(MPI_Comm communicator) {
    Position position;
    MPI_Comm_rank(communicator, &position.rank);
    MPI_Comm_size(communicator, &position.size);
    return position;
}

Position position_in(const Communicator& communicator) {
    return {communicator.rank(), communicator.size()};
}

int relation(MPI_Comm one, MPI_Comm other) {
    int result = MPI_UNEQUAL;
    MPI_Comm_compare(one, other, &result);
    return result;
}

std::int64_t sum_of_ranks_below(int size) {
    return std::int64_t{size} * (size - 1) / 2;
}

TEST(FromMpi, TheWorldHasTheSameRanksAndAdds) {
    const auto ranks = from_mpi(MPI_COMM_WORLD);
    EXPECT_EQ(position_in(ranks), position_in(MPI_COMM_WORLD));
    EXPECT_EQ(ranks.sum(std::int64_t{ranks.rank()}), sum_of_ranks_below(ranks.size()));
}

TEST(FromMpi, APartMadeByMpiAddsAmongItself) {
    const auto world = position_in(MPI_COMM_WORLD);
    MPI_Comm part = MPI_COMM_NULL;
    ASSERT_EQ(MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, -world.rank, &part), MPI_SUCCESS);
    const auto expected = position_in(part);
    const auto ranks = from_mpi(part);
    ASSERT_EQ(MPI_Comm_free(&part), MPI_SUCCESS);  // it does not need the caller's any longer
    EXPECT_EQ(position_in(ranks), expected);
    std::int64_t members = 0;
    for (int rank = world.rank % 2; rank < world.size; rank += 2) members += rank;
    EXPECT_EQ(ranks.sum(std::int64_t{world.rank}), members);
    std::vector<int> root{world.rank};
    ranks.broadcast(std::span(root));
    EXPECT_EQ(root[0] % 2, world.rank % 2);
    EXPECT_GE(root[0], world.rank) << "the key turns the order round";
}

TEST(FromMpi, OnlyRanksOfAGroupHaveOne) {
    const auto world = position_in(MPI_COMM_WORLD);
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world.rank == 0 ? 0 : MPI_UNDEFINED, 0, &part);
    if (world.rank != 0) {
        EXPECT_THROW((void)from_mpi(part), Error);
        return;
    }
    EXPECT_EQ(position_in(from_mpi(part)), (Position{0, 1}));
    MPI_Comm_free(&part);
}

TEST(FromMpi, MessagesOfTheCallerStayApart) {
    MPI_Comm own = MPI_COMM_NULL;
    ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &own), MPI_SUCCESS);
    const auto [rank, size] = position_in(own);
    const auto ranks = from_mpi(own);
    const int right = (rank + 1) % size;
    const int left = (rank + size - 1) % size;
    int theirs = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_Irecv(&theirs, 1, MPI_INT, left, 0, own, &request), MPI_SUCCESS);
    // The same ranks and tag in dtrain's communicator.
    const std::vector<int> out{100 + rank};
    std::vector<int> in{-1};
    auto sent = ranks.start_send(std::span(out), right);
    ranks.receive(std::span(in), left);
    sent.wait();
    EXPECT_EQ(in[0], 100 + left);
    ASSERT_EQ(MPI_Send(&rank, 1, MPI_INT, right, 0, own), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(theirs, left);
    MPI_Comm_free(&own);
}

TEST(FromMpi, AnIntercommunicatorIsRefused) {
    const auto world = position_in(MPI_COMM_WORLD);
    if (world.size < 2) GTEST_SKIP() << "two groups need two ranks";
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world.rank == 0 ? 0 : 1, world.rank, &half);
    MPI_Comm both = MPI_COMM_NULL;
    ASSERT_EQ(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, world.rank == 0 ? 1 : 0, 0, &both), MPI_SUCCESS);
    EXPECT_THROW((void)from_mpi(both), Error);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

TEST(ToMpi, TheCopyIsTheCallersAndOutlivesTheCommunicator) {
    MPI_Comm copy = MPI_COMM_NULL;
    {
        const auto ranks = test_world().duplicate();
        copy = to_mpi(ranks);
        EXPECT_EQ(position_in(copy), position_in(ranks));
    }
    EXPECT_EQ(relation(copy, MPI_COMM_WORLD), MPI_CONGRUENT);
    int sum = position_in(copy).rank;
    ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, copy), MPI_SUCCESS);
    EXPECT_EQ(sum, sum_of_ranks_below(position_in(copy).size));
    EXPECT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
}

TEST(ToMpi, APartKeepsItsOrder) {
    const auto& world = test_world();
    const auto part = world.split(world.rank() % 2, -world.rank());
    MPI_Comm copy = to_mpi(part);
    EXPECT_EQ(position_in(copy), position_in(part));
    const auto again = from_mpi(copy);
    MPI_Comm_free(&copy);
    EXPECT_EQ(position_in(again), position_in(part));
    EXPECT_EQ(again.sum(std::int64_t{1}), part.size());
}

TEST(ToMpi, ARankAloneHasACopyOfItsOwn) {
    MPI_Comm copy = to_mpi(Communicator());
    EXPECT_EQ(relation(copy, MPI_COMM_SELF), MPI_CONGRUENT);
    MPI_Comm_free(&copy);
}

}  // namespace
}  // namespace dtrain
