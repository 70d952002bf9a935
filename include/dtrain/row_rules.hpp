// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

namespace dtrain {

/// Every id gets a row when it is first pulled or pushed.
struct AdmitAll {
    friend bool operator==(const AdmitAll&, const AdmitAll&) = default;
};

/// An id gets a row when it is pulled for the `count`-th time. Earlier pulls are counted in `counters` bytes
/// of memory, a fixed size; ids that share counters may be admitted too early, never too late.
struct AdmitByCount {
    int count = 1;                                 ///< 1 to 255
    std::size_t counters = std::size_t{1} << 24U;  ///< a multiple of 64; each id uses four of them
    friend bool operator==(const AdmitByCount&, const AdmitByCount&) = default;
};

/// Whether an id gets a row is decided once and for all by a function of seed, table and id.
struct AdmitByProbability {
    double probability = 1;  ///< 0 to 1
    friend bool operator==(const AdmitByProbability&, const AdmitByProbability&) = default;
};

/// When an id gets a row.
using Admission = std::variant<AdmitAll, AdmitByCount, AdmitByProbability>;

/// Counts of shows and clicks per row, for shrinking. The defaults are those of Paddle's CTR accessor.
struct RowStatistics {
    double show_coefficient = 0.1;       ///< weight of shows without a click in the score
    double click_coefficient = 1;        ///< weight of clicks in the score
    double decay = 0.98;                 ///< factor for shows and clicks at each shrink
    double least_score = 0.8;            ///< rows with a lower score are removed at a shrink
    std::int64_t most_unseen_days = 30;  ///< rows that were unused for longer are removed at a shrink
    friend bool operator==(const RowStatistics&, const RowStatistics&) = default;
};

/// Which ids of a table on parameter servers get rows, and which rows are kept.
struct RowRules {
    Admission admission = AdmitAll{};              ///< which ids get rows
    std::optional<RowStatistics> statistics = {};  ///< adds 12 bytes to each row
    friend bool operator==(const RowRules&, const RowRules&) = default;
};

}  // namespace dtrain
