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

/// Values are even in [-bound, bound).
struct UniformRow {
    double bound = 0;
    friend bool operator==(const UniformRow&, const UniformRow&) = default;
};

struct NormalRow {
    double standard_deviation = 0;
    friend bool operator==(const NormalRow&, const NormalRow&) = default;
};

using RowInitializer = std::variant<ConstantRow, UniformRow, NormalRow>;

/// What a row begins as: a function of seed, table, id and nothing else. With UniformRow, the rows of the
/// ids 0 to 2^32 - 1 are those of a parameter of a Program that has the table's name and the initializer
/// {uniform, bound}.
class InitialRow {
  public:
    /// @throws UsageError when the initializer's number is negative (but a constant) or not finite
    InitialRow(const RowInitializer& initializer, std::uint64_t seed, const std::string& table);

    void write(std::int64_t id, std::span<float> weights) const;

  private:
    RowInitializer initializer_;
    std::uint64_t key_;
};

}  // namespace dtrain::ps
