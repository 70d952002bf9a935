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
    std::size_t width = 0;  ///< floats of weights in a row
    std::uint64_t seed = 0;
    RowInitializer initializer = ConstantRow{0};
    Optimizer optimizer = Sgd{};
    Regularisation regularisation = NoDecay{};
    /// The most distinct ids that may have rows here; of a table on several servers, on all of them together.
    std::optional<std::uint64_t> dict_size = {};
    Admission admission = AdmitAll{};
    std::optional<RowStatistics> statistics = {};  ///< 12 bytes more in each row
    bool reject_not_finite = false;  ///< gradients with NaN or infinity are dropped and counted, else applied

    /// Each holds up to 2^32 rows. 0: as many as the machine's memory can need.
    std::size_t arenas = 0;
};

/// @throws UsageError that names the table and the option when one is out of its range
void check(const TableOptions& options);

/// Rows of a table.
struct RowCount {
    std::uint64_t rows = 0;
};

/// More distinct ids than `dict_size`.
class DictSizeError : public Error {
  public:
    /// The table is as it was before the batch.
    DictSizeError(const std::string& table, std::uint64_t dict_size, std::int64_t id);
    /// All servers together have so many rows already.
    DictSizeError(const std::string& table, std::uint64_t dict_size, RowCount there);

    const std::string& table() const { return table_; }
    std::uint64_t dict_size() const { return dict_size_; }

    /// The first id for which there was no room, where it is known.
    std::optional<std::int64_t> id() const { return id_; }

  private:
    std::string table_;
    std::uint64_t dict_size_;
    std::optional<std::int64_t> id_;
};

}  // namespace dtrain::ps
