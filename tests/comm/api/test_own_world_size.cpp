// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what launchers set for each rank; this test's process has no mpi_world().
#include <gtest/gtest.h>

#include "comm/api/own_world_size.hpp"

namespace dtrain::comm {
namespace {

TEST(OwnWorldSize, IsWhatTheLauncherSays) {
    EXPECT_EQ(own_world_size({}), 1);
    EXPECT_EQ(own_world_size({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "3"}}), 3);
    EXPECT_EQ(own_world_size({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}), 2);
    EXPECT_EQ(own_world_size({{"PMIX_RANK", "1"}}), 1) << "not known";
    EXPECT_EQ(own_world_size({{"SLURM_NTASKS", "4"}}), 1) << "a batch script is no rank";
}

TEST(IsDefault, OfTheCommunicatorThatNobodyMade) {
    EXPECT_TRUE(is_default({}));
    EXPECT_TRUE(is_default(Communicator()));
}

}  // namespace
}  // namespace dtrain::comm
