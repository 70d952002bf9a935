// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

namespace dtrain::ps {

struct ConstantRow {
    double value = 0;
    friend bool operator==(const ConstantRow&, const ConstantRow&) = default;
};

/// Uniformly distributed in [-bound, bound).
struct UniformRow {
    double bound = 0;
    friend bool operator==(const UniformRow&, const UniformRow&) = default;
};

struct NormalRow {
    double standard_deviation = 0;
    friend bool operator==(const NormalRow&, const NormalRow&) = default;
};

using RowInitializer = std::variant<ConstantRow, UniformRow, NormalRow>;

/// The initial values of a row: a function of seed, table and id only. With UniformRow, the rows of ids 0 to
/// 2^32 - 1 equal those of a Program's parameter that has the table's name and the initializer {uniform,
/// bound}.
class InitialRow {
  public:
    /// @throws UsageError if the initializer's number is not finite, or negative (except for a constant)
    InitialRow(const RowInitializer& initializer, std::uint64_t seed, const std::string& table);

    void write(std::int64_t id, std::span<float> weights) const;

  private:
    RowInitializer initializer_;
    std::uint64_t key_;
};

}  // namespace dtrain::ps
