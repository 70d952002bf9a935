// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the table of operators. Runs behind the tests that check gradients.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/ir/operators.hpp"
#include "program/schemas/check_gradients.hpp"

namespace dtrain {
namespace {

TEST(EveryGradient, IsCheckedAgainstDifferences) {
    if (GTEST_FLAG_GET(filter) != "*") GTEST_SKIP() << "not all tests run";
    std::vector<std::string> left;
    for (const auto& type : program::operator_types())
        if (program::find_schema(type)->make_gradient && !checked_operators().contains(type))
            left.push_back(type);
    EXPECT_THAT(left, testing::IsEmpty());
}

}  // namespace
}  // namespace dtrain
