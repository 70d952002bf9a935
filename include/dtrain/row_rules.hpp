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

/// An id gets a row when it is pulled for the `count`-th time. What came before is counted in `counters`
/// bytes of memory that never grow; ids that share counters may be admitted too early, none too late.
struct AdmitByCount {
    int count = 1;                                 ///< 1 to 255
    std::size_t counters = std::size_t{1} << 24U;  ///< a multiple of 64; four of them count an id
    friend bool operator==(const AdmitByCount&, const AdmitByCount&) = default;
};

/// An id gets a row or never does: a function of seed, table and id.
struct AdmitByProbability {
    double probability = 1;  ///< 0 to 1
    friend bool operator==(const AdmitByProbability&, const AdmitByProbability&) = default;
};

using Admission = std::variant<AdmitAll, AdmitByCount, AdmitByProbability>;

/// How often a row was shown and clicked on, for shrinking. The numbers are those that Paddle's CTR accessor
/// has unless told otherwise.
struct RowStatistics {
    double show_coefficient = 0.1;       ///< of shows without a click, in the score
    double click_coefficient = 1;        ///< of clicks, in the score
    double decay = 0.98;                 ///< of shows and clicks, at each shrink
    double least_score = 0.8;            ///< rows with less go at a shrink
    std::int64_t most_unseen_days = 30;  ///< rows that were not used for longer go at a shrink
    friend bool operator==(const RowStatistics&, const RowStatistics&) = default;
};

/// Which ids of a table on parameter servers get rows, and which rows stay.
struct RowRules {
    Admission admission = AdmitAll{};
    std::optional<RowStatistics> statistics = {};  ///< 12 bytes more in each row
    friend bool operator==(const RowRules&, const RowRules&) = default;
};

}  // namespace dtrain
