// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/table_sizes.hpp"

#include <utility>

#include "ps/table/table_options.hpp"

namespace dtrain::ps {

TableSizes::TableSizes(std::vector<std::optional<TableLimit>> limits, std::size_t servers) {
    for (auto& limit : limits) {
        is_limited_ = is_limited_ || limit;
        tables_.push_back({std::move(limit), std::vector<std::uint64_t>(servers)});
    }
}

void TableSizes::note(std::size_t server, std::uint32_t table, std::uint64_t rows) {
    if (table >= tables_.size() || !tables_[table].limit) return;
    auto& known = tables_[table];
    const bool was_passed = known.is_passed();
    known.sum += rows - std::exchange(known.rows[server], rows);
    if (known.is_passed() == was_passed) return;
    if (was_passed)
        --passed_;
    else
        ++passed_;
}

void TableSizes::check() const {
    for (const auto& [limit, rows, sum] : tables_)
        if (limit && sum > limit->dict_size)
            throw DictSizeError(limit->table, limit->dict_size, RowCount{sum});
}

}  // namespace dtrain::ps
