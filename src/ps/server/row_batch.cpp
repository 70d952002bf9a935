// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/row_batch.hpp"

namespace dtrain::ps {

void RowBatch::add(int source, const RowGradients& pushed) {
    has_each_id_once_ = has_each_id_once_ && pushed.has_each_id_once && source_.value_or(source) == source;
    source_ = source;
    if (!table_.has_statistics) {
        parts_.push_back({pushed.ids, pushed.rows});
        return;
    }
    ids_.insert(ids_.end(), pushed.ids.begin(), pushed.ids.end());
    add_apart(pushed.rows);
    parts_.assign(1, {ids_, gradients_, shows_, clicks_});
}

void RowBatch::add_apart(std::span<const float> rows) {
    for (; !rows.empty(); rows = rows.subspan(table_.pushed_width())) {
        const auto gradient = rows.first(table_.width);
        gradients_.insert(gradients_.end(), gradient.begin(), gradient.end());
        shows_.push_back(rows[table_.width]);
        clicks_.push_back(rows[table_.width + 1]);
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
