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

}  // namespace
}  // namespace dtrain
