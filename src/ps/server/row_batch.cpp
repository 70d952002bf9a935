// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/row_batch.hpp"

#include <limits>

#include <fmt/format.h>

namespace dtrain::ps {

void RowBatch::check(std::span<const float> rows) const {
    if (!has_statistics_) return;
    const auto is_count = [](float value) {
        return value >= 0 && value <= std::numeric_limits<float>::max();
    };
    for (std::size_t at = width_; at < rows.size(); at += row_width())
        if (!is_count(rows[at]) || !is_count(rows[at + 1]))
            throw MessageError(fmt::format("a row with {} shows and {} clicks, which are no counts", rows[at],
                                           rows[at + 1]));
}

void RowBatch::add(int source, const Section& section) {
    has_each_id_once_ = has_each_id_once_ && section.has_each_id_once && source_.value_or(source) == source;
    source_ = source;
    const auto ids = section.ids();
    const auto rows = section.floats_behind_ids(ids.size() * row_width());
    if (!has_statistics_) {
        parts_.push_back({ids, rows});
        return;
    }
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    add_apart(rows);
    parts_.assign(1, {ids_, gradients_, shows_, clicks_});
}

void RowBatch::add_apart(std::span<const float> rows) {
    for (; !rows.empty(); rows = rows.subspan(row_width())) {
        const auto gradient = rows.first(width_);
        gradients_.insert(gradients_.end(), gradient.begin(), gradient.end());
        shows_.push_back(rows[width_]);
        clicks_.push_back(rows[width_ + 1]);
    }
}

void RowBatch::clear() {
    parts_.clear();
    source_.reset();
    has_each_id_once_ = true;
    ids_.clear();
    gradients_.clear();
    shows_.clear();
    clicks_.clear();
}

}  // namespace dtrain::ps
