// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: times written by hand, and whom a person would blame for them.
#include <gtest/gtest.h>

#include "report/slowest_rank.hpp"

namespace dtrain::report {
namespace {

Run run_of(std::vector<double> waits) {
    Run run;
    for (std::size_t rank = 0; rank < waits.size(); ++rank) {
        run.times.push_back(
            {.rank = static_cast<int>(rank), .compute = 90 - waits[rank], .wait = waits[rank]});
        run.places.push_back({.rank = static_cast<int>(rank), .host = "node" + std::to_string(rank / 2)});
    }
    return run;
}

TEST(SlowestRank, IsTheOneThatWaitsLeast) {
    EXPECT_EQ(slowest_rank(run_of({30, 28, 0.5, 25})),
              "Rank 2 on node1 was the slowest: others waited up to 29.5 s for it.");
}

TEST(SlowestRank, IsNobodyWhereAllAreAlike) {
    EXPECT_EQ(slowest_rank(run_of({1, 1.5, 2})), "");
    EXPECT_EQ(slowest_rank(run_of({0, 0})), "");
    EXPECT_EQ(slowest_rank(run_of({40})), "");
    EXPECT_EQ(slowest_rank({}), "");
}

TEST(SlowestRank, MayBeAnywhere) {
    auto run = run_of({30, 0});
    run.places.clear();
    EXPECT_EQ(slowest_rank(run), "Rank 1 was the slowest: others waited up to 30.0 s for it.");
}

}  // namespace
}  // namespace dtrain::report
