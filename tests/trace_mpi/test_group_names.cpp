// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the names as the header of the functions has them.
#include <vector>

#include <gtest/gtest.h>

#include "trace_mpi/group_names.hpp"

namespace dtrain::trace_mpi {
namespace {

TEST(GroupNames, AChildIsNumberedAndAPartHasItsLowestRank) {
    const std::vector<int> all{0, 1, 2, 3}, part{6, 4};
    EXPECT_EQ(child_name("MPI_COMM_WORLD", "", 2, 4, all), "MPI_COMM_WORLD/2");
    EXPECT_EQ(child_name("MPI_COMM_WORLD", "", 2, 8, part), "MPI_COMM_WORLD/2@4");
    EXPECT_EQ(child_name("MPI_COMM_WORLD/2@4", "window ", 1, 2, part), "MPI_COMM_WORLD/2@4/window 1");
}

TEST(GroupNames, RanksAreRanges) {
    EXPECT_EQ(ranks_text({}), "");
    EXPECT_EQ(ranks_text(std::vector{3}), "3");
    EXPECT_EQ(ranks_text(std::vector{0, 1, 2, 8, 10, 11}), "0-2,8,10-11");
    EXPECT_EQ(ranks_text(std::vector{2, 1, 0}), "2,1,0");
}

TEST(GroupNames, ManyRangesAreCutAndStillDiffer) {
    std::vector<int> even, other;
    for (int rank = 0; rank < 100; ++rank) even.push_back(2 * rank);
    other = even;
    other.back() += 2;
    EXPECT_LE(ranks_text(even).size(), 32U);
    EXPECT_EQ(ranks_text(even).substr(0, 10), ranks_text(other).substr(0, 10));
    EXPECT_NE(ranks_text(even), ranks_text(other));
}

TEST(GroupNames, WhatAProgramSaysStandsBeforeTheName) {
    EXPECT_EQ(given_name("actors", "MPI_COMM_WORLD/2@4"), "actors (MPI_COMM_WORLD/2@4)");
    EXPECT_EQ(given_name(std::string(100, 'x'), "w"), std::string(40, 'x') + " (w)");
}

}  // namespace
}  // namespace dtrain::trace_mpi
