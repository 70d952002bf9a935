// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <dtrain/error.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/row_rules.hpp>

#include "ps/table/initial_row.hpp"

namespace dtrain::ps {

using dtrain::Admission;
using dtrain::AdmitAll;
using dtrain::AdmitByCount;
using dtrain::AdmitByProbability;
using dtrain::RowStatistics;

struct TableOptions {
    std::string name;
    std::size_t width = 0;  ///< number of weights per row
    std::uint64_t seed = 0;
    RowInitializer initializer = ConstantRow{0};
    Optimizer optimizer = Sgd{};
    Regularisation regularisation = NoDecay{};
    /// Maximum number of distinct ids with rows; for a table on several servers, on all of them together.
    std::optional<std::uint64_t> dict_size = {};
    Admission admission = AdmitAll{};
    std::optional<RowStatistics> statistics = {};  ///< adds 12 bytes to each row
    bool reject_not_finite = false;                ///< gradients with NaN or infinity are dropped and counted

    /// Number of arenas, each for up to 2^32 rows. 0: as many as the machine's memory may need.
    std::size_t arenas = 0;
};

/// @throws UsageError naming the table and the option that is out of range
void check(const TableOptions& options);

/// A number of rows of a table.
struct RowCount {
    std::uint64_t rows = 0;
};

/// There are more distinct ids than `dict_size`.
class DictSizeError : public Error {
  public:
    /// The table is unchanged by the batch.
    DictSizeError(const std::string& table, std::uint64_t dict_size, std::int64_t id);
    /// All servers together already have this many rows.
    DictSizeError(const std::string& table, std::uint64_t dict_size, RowCount present);

    const std::string& table() const { return table_; }
    std::uint64_t dict_size() const { return dict_size_; }

    /// The first id without room, if known.
    std::optional<std::int64_t> id() const { return id_; }

  private:
    std::string table_;
    std::uint64_t dict_size_;
    std::optional<std::int64_t> id_;
};

}  // namespace dtrain::ps
