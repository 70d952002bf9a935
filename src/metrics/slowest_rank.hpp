// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metrics/run.hpp"

/// Determines from the ranks' times which rank the others waited for. Pure.
namespace dtrain::metrics {

struct SlowestRank {
    int rank = 0;            ///< the rank that waited least
    double waited = 0;       ///< seconds that the rank that waited most waited longer
    bool is_urgent = false;  ///< must be reported at once: at least a second, and a tenth of the time
    friend bool operator==(const SlowestRank&, const SlowestRank&) = default;
};

/// Nothing if no rank waited for more than 2% of the time and at least 10 ms, or the waiting times are
/// unknown.
std::optional<SlowestRank> slowest_of(const std::vector<RankTimes>& times);

/// The times spent since `before`.
/// @param before earlier times of the same ranks; may be empty
std::vector<RankTimes> times_since(const std::vector<RankTimes>& before, std::vector<RankTimes> now);

/// "rank 2 on node7 was the slowest: others waited up to 12.3 s for it"
/// @param host "" if unknown
std::string text_of(int rank, const std::string& host, double waited);

/// "Rank 2 on node7 was the slowest: others waited up to 12.3 s for it."; "" if no rank's delay mattered.
std::string slowest_rank(const Run& run);

/// "In 9 epochs others waited for a rank: in 8 for rank 2 on node7, in 1 for rank 0 on node6."; "" if there
/// are none.
std::string slow_epochs_text(const Run& run);

}  // namespace dtrain::metrics
