// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/run.hpp"

/// Whom the others waited for, by the ranks' times. Pure.
namespace dtrain::report {

struct SlowestRank {
    int rank = 0;            ///< that waited least
    double waited = 0;       ///< seconds more, by the one that waited most
    bool is_urgent = false;  ///< so much that somebody should know at once: a second, and a tenth of the time
    friend bool operator==(const SlowestRank&, const SlowestRank&) = default;
};

/// None when nobody waited for more than 2% of the time and for 10 ms, or nobody knows.
std::optional<SlowestRank> slowest_of(const std::vector<RankTimes>& times);

/// What was added. @param before of the same ranks; empty: nothing yet
std::vector<RankTimes> times_since(const std::vector<RankTimes>& before, std::vector<RankTimes> now);

/// "rank 2 on node7 was the slowest: others waited up to 12.3 s for it"
/// @param host "": nobody knows
std::string text_of(int rank, const std::string& host, double waited);

/// "Rank 2 on node7 was the slowest: others waited up to 12.3 s for it."; "" when the ranks' times tell of
/// none that mattered.
std::string slowest_rank(const Run& run);

/// "In 9 epochs others waited for a rank: in 8 for rank 2 on node7, in 1 for rank 0 on node6."; "" when in
/// none.
std::string slow_epochs_text(const Run& run);

}  // namespace dtrain::report
