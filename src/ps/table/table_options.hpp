// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <dtrain/error.hpp>
#include <dtrain/optimizer.hpp>

#include "ps/table/initial_row.hpp"

namespace dtrain::ps {

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

/// How often a row was shown and clicked on, for shrink(). The numbers are those that Paddle's CTR accessor
/// has unless told otherwise.
struct RowStatistics {
    double show_coefficient = 0.1;       ///< of shows without a click, in the score
    double click_coefficient = 1;        ///< of clicks, in the score
    double decay = 0.98;                 ///< of shows and clicks, at each shrink()
    double least_score = 0.8;            ///< rows with less go at shrink()
    std::int64_t most_unseen_days = 30;  ///< rows that were not used for longer go at shrink()
    friend bool operator==(const RowStatistics&, const RowStatistics&) = default;
};

struct TableOptions {
    std::string name;
    std::size_t width = 0;  ///< floats of weights in a row
    std::uint64_t seed = 0;
    RowInitializer initializer = ConstantRow{0};
    Optimizer optimizer = Sgd{};
    Regularisation regularisation = NoDecay{};
    std::optional<std::uint64_t> dict_size = {};  ///< the most distinct ids that may have rows
    Admission admission = AdmitAll{};
    std::optional<RowStatistics> statistics = {};  ///< 12 bytes more in each row
    bool reject_not_finite = false;  ///< gradients with NaN or infinity are dropped and counted, else applied

    /// Each holds up to 2^32 rows. 0: as many as the machine's memory can need.
    std::size_t arenas = 0;
};

/// @throws UsageError that names the table and the option when one is out of its range
void check(const TableOptions& options);

/// More distinct ids than `dict_size`. The table is as it was before the batch.
class DictSizeError : public Error {
  public:
    DictSizeError(const std::string& table, std::uint64_t dict_size, std::int64_t id);

    const std::string& table() const { return table_; }
    std::uint64_t dict_size() const { return dict_size_; }

    /// The first id for which there was no room.
    std::int64_t id() const { return id_; }

  private:
    std::string table_;
    std::uint64_t dict_size_;
    std::int64_t id_;
};

}  // namespace dtrain::ps
