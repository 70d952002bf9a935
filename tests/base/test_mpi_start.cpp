// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the functions for each variable, which have tests of their own.
#include <gtest/gtest.h>

#include "base/fast_network.hpp"
#include "base/mpi_start.hpp"
#include "base/single_copy.hpp"

namespace dtrain {
namespace {

TEST(MpiStart, TellsWhatTheMachineIs) {
    const auto variables = mpi_start_variables({});
    EXPECT_EQ(variables.get(mtl_variable), mtl_selection({}, may_have_fast_network()));
    EXPECT_EQ(variables.get(single_copy_variable), single_copy_mechanism({}, may_read_processes()));
}

TEST(MpiStart, LeavesWhatTheUserHasSet) {
    EXPECT_EQ(mpi_start_variables({{mtl_variable, "ofi"}, {single_copy_variable, "cma"}}), Environment());
}

TEST(MpiStart, RanksOfOneNodeNeedNoIPv6) {
    const auto family = [](Environment environment) {
        return mpi_start_variables(environment).get(tcp_family_variable);
    };
    EXPECT_EQ(family({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}), "6");
    EXPECT_EQ(family({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}), std::nullopt);
    EXPECT_EQ(family({}), std::nullopt);
    EXPECT_EQ(
        family(
            {{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {tcp_family_variable, "4"}}),
        std::nullopt);
}

}  // namespace
}  // namespace dtrain
