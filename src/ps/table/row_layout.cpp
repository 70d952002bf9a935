// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/row_layout.hpp"

#include <algorithm>

#include "ps/table/row_update.hpp"

namespace dtrain::ps {

RowLayout::RowLayout(const TableOptions& options)
    : width_(options.width),
      state_width_(options.width * states_of(options.optimizer)),
      statistics_at_(sizeof(std::int64_t) + sizeof(float) * (width_ + state_width_)),
      has_statistics_(options.statistics.has_value()) {}

TableRow RowLayout::read(const std::byte* row) const {
    const auto* floats = reinterpret_cast<const float*>(row + sizeof(std::int64_t));
    const auto [shows, clicks, last_day] = statistics_of(row);
    return {.id = RowArena::id_of(row),
            .weights = {floats, width_},
            .state = {floats + width_, state_width_},
            .shows = shows,
            .clicks = clicks,
            .last_day = last_day};
}

void RowLayout::write(std::byte* to, const TableRow& row) const {
    std::ranges::copy(row.weights, weights_of(to));
    std::ranges::copy(row.state, weights_of(to) + width_);
    if (has_statistics_) set_statistics(to, {row.shows, row.clicks, row.last_day});
}

}  // namespace dtrain::ps
