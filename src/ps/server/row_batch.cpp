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
            throw LetterError(fmt::format("a row with {} shows and {} clicks, which are no counts", rows[at],
                                          rows[at + 1]));
}

void RowBatch::add(std::span<const std::int64_t> ids, std::span<const float> rows) {
    if (ids_.empty() && !has_statistics_) {
        ids_ = ids;
        gradients_ = rows;
        return;
    }
    if (joined_ids_.empty()) {
        joined_ids_.assign(ids_.begin(), ids_.end());
        joined_gradients_.assign(gradients_.begin(), gradients_.end());
    }
    joined_ids_.insert(joined_ids_.end(), ids.begin(), ids.end());
    if (has_statistics_)
        add_apart(rows);
    else
        joined_gradients_.insert(joined_gradients_.end(), rows.begin(), rows.end());
    ids_ = joined_ids_;
    gradients_ = joined_gradients_;
}

void RowBatch::add_apart(std::span<const float> rows) {
    for (; !rows.empty(); rows = rows.subspan(row_width())) {
        const auto gradient = rows.first(width_);
        joined_gradients_.insert(joined_gradients_.end(), gradient.begin(), gradient.end());
        shows_.push_back(rows[width_]);
        clicks_.push_back(rows[width_ + 1]);
    }
}

void RowBatch::clear() {
    ids_ = {};
    gradients_ = {};
    joined_ids_.clear();
    joined_gradients_.clear();
    shows_.clear();
    clicks_.clear();
}

}  // namespace dtrain::ps
