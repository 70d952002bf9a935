// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/initial_row.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/initial_value.hpp"

namespace dtrain::ps {
namespace {

void check(const std::string& table, std::string_view what, double value, double min) {
    if (!std::isfinite(value) || value < min)
        throw UsageError(fmt::format("table '{}': {} is {}, expected a finite number{}", table, what, value,
                                     min == 0 ? " that is not negative" : ""));
}

void check(const std::string& table, const ConstantRow& row) {
    check(table, "the initial value", row.value, -HUGE_VAL);
}

void check(const std::string& table, const UniformRow& row) {
    check(table, "the bound of the initial values", row.bound, 0);
}

void check(const std::string& table, const NormalRow& row) {
    check(table, "the standard deviation of the initial values", row.standard_deviation, 0);
}

// The random stream of a row: its key and the index of the row's first number. Ids below 2^32 use consecutive
// numbers, as the rows of a dense parameter do; larger ids get keys of their own, since their indices would
// exceed 64 bits.
struct StreamPosition {
    std::uint64_t key;
    std::uint64_t first;
};

StreamPosition position_of(std::uint64_t key, std::int64_t id, std::size_t width) {
    const auto whole = static_cast<std::uint64_t>(id);
    const auto high = whole >> 32U;
    return {high == 0 ? key : key ^ mixed(high), (whole & 0xffffffffU) * width};
}

void write(const StreamPosition& /*position*/, const ConstantRow& row, std::span<float> weights) {
    std::ranges::fill(weights, static_cast<float>(row.value));
}

void write(const StreamPosition& position, const UniformRow& row, std::span<float> weights) {
    for (std::size_t j = 0; j < weights.size(); ++j)
        weights[j] = static_cast<float>(initial_uniform(position.key, position.first + j, row.bound));
}

// Box and Muller, Annals of Mathematical Statistics 29 (1958): one normal number from two uniform ones.
void write(const StreamPosition& position, const NormalRow& row, std::span<float> weights) {
    const auto angles = mixed(position.key);
    for (std::size_t j = 0; j < weights.size(); ++j) {
        const auto radius = std::sqrt(-2.0 * std::log(1.0 - initial_unit(position.key, position.first + j)));
        const auto turn = std::cos(2.0 * std::numbers::pi * initial_unit(angles, position.first + j));
        weights[j] = static_cast<float>(row.standard_deviation * radius * turn);
    }
}

}  // namespace

InitialRow::InitialRow(const RowInitializer& initializer, std::uint64_t seed, const std::string& table)
    : initializer_(initializer), key_(initial_key(seed, table)) {
    std::visit([&](const auto& row) { check(table, row); }, initializer);
}

void InitialRow::write(std::int64_t id, std::span<float> weights) const {
    const auto position = position_of(key_, id, weights.size());
    std::visit([&](const auto& row) { ps::write(position, row, weights); }, initializer_);
}

}  // namespace dtrain::ps
