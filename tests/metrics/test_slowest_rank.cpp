// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: times written by hand, and whom a person would blame for them.
#include <gtest/gtest.h>

#include "metrics/slowest_rank.hpp"

namespace dtrain::metrics {
namespace {

Run run_of(std::vector<double> waits) {
    Run run;
    for (std::size_t rank = 0; rank < waits.size(); ++rank) {
        run.times.push_back(
            {.rank = static_cast<int>(rank), .compute = 90 - waits[rank], .wait = waits[rank]});
        run.locations.push_back({.rank = static_cast<int>(rank), .host = "node" + std::to_string(rank / 2)});
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
    auto short_times = run_of({0.009, 0}).times;
    for (auto& rank : short_times) rank.compute = 0;
    EXPECT_EQ(slowest_of(short_times), std::nullopt);
    short_times[0].wait = 0.01;
    EXPECT_NE(slowest_of(short_times), std::nullopt);
    EXPECT_EQ(slowest_rank({}), "");
}

TEST(SlowestRank, IsUrgentFromASecondAndATenthOfTheTimeOn) {
    const auto is_urgent = [](std::vector<double> waits) {
        return slowest_of(run_of(std::move(waits)).times).value().is_urgent;  // of 90 s
    };
    EXPECT_TRUE(is_urgent({9, 0}));
    EXPECT_FALSE(is_urgent({8.9, 0}));
    auto short_times = run_of({0.9, 0}).times;
    for (auto& rank : short_times) rank.compute = 0;
    EXPECT_FALSE(slowest_of(short_times).value().is_urgent);
    short_times[0].wait = 1;
    EXPECT_TRUE(slowest_of(short_times).value().is_urgent);
}

TEST(SlowestRank, OfAnEpochIsByTheTimesSinceTheLast) {
    const auto first = run_of({30, 0}).times;
    const auto second = run_of({31, 20}).times;
    EXPECT_EQ(slowest_of(times_since({}, first))->rank, 1);
    EXPECT_EQ(slowest_of(second)->rank, 1);
    EXPECT_EQ(slowest_of(times_since(first, second)),
              (SlowestRank{.rank = 0, .waited = 19, .is_urgent = true}));
    auto unknown = second;
    for (auto& rank : unknown) rank.wait = std::nullopt;
    EXPECT_EQ(slowest_of(times_since(first, unknown)), std::nullopt);
}

TEST(SlowestRank, OfEpochsAreCountedByRank) {
    auto run = run_of({0, 0, 0});
    EXPECT_EQ(slow_epochs_text(run), "");
    run.slow_epochs = {{2, 0, 1}, {3, 2, 1}, {5, 2, 1}};
    EXPECT_EQ(slow_epochs_text(run),
              "In 3 epochs others waited for a rank: in 2 for rank 2 on node1, in 1 for rank 0 on node0.");
    run.slow_epochs.clear();
    for (int rank = 0; rank < 7; ++rank) run.slow_epochs.push_back({rank + 1, rank, 1});
    EXPECT_TRUE(slow_epochs_text(run).ends_with(", in 1 for rank 4, others in the rest."))
        << slow_epochs_text(run);
}

TEST(SlowestRank, MayBeAnywhere) {
    auto run = run_of({30, 0});
    run.locations.clear();
    EXPECT_EQ(slowest_rank(run), "Rank 1 was the slowest: others waited up to 30.0 s for it.");
}

}  // namespace
}  // namespace dtrain::metrics
