// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/gradient_batch.hpp"

#include <algorithm>

#include "kernels/loops.hpp"
#include "ps/table/finite.hpp"

namespace dtrain::ps {

GradientBatch GradientMerge::without_not_finite(const GradientBatch& batch, std::uint64_t& rejected) {
    if (is_finite(batch.gradients)) return batch;
    auto& [ids, gradients, shows, clicks] = finite_ = {};
    for (std::size_t i = 0; i < batch.ids.size(); ++i) {
        const auto gradient = batch.gradients.subspan(i * width_, width_);
        if (!is_finite(gradient)) {
            ++rejected;
            continue;
        }
        ids.push_back(batch.ids[i]);
        gradients.insert(gradients.end(), gradient.begin(), gradient.end());
        if (batch.shows.empty()) continue;
        shows.push_back(batch.shows[i]);
        clicks.push_back(batch.clicks[i]);
    }
    return {ids, gradients, shows, clicks};
}

GradientBatch GradientMerge::merged(const GradientBatch& batch, TableTeam* team) {
    if (!distinct_.find_repeated(batch.ids)) return batch;
    const auto n = distinct_.ids().size();
    merged_.gradients.resize(n * width_);
    const bool has_statistics = !batch.shows.empty();
    merged_.shows.assign(has_statistics ? n : 0, 0);
    merged_.clicks.assign(has_statistics ? n : 0, 0);
    if (team != nullptr && team->is_for(batch.ids.size()))
        team->in_parts([&](std::size_t part, std::size_t parts) {
            add_up(batch, n * part / parts, n * (part + 1) / parts);
        });
    else
        add_up(batch, 0, n);
    return {distinct_.ids(), merged_.gradients, merged_.shows, merged_.clicks};
}

/// For the distinct ids from the first to before the last, in the order of the batch.
void GradientMerge::add_up(const GradientBatch& batch, std::size_t first, std::size_t last) {
    const auto places = distinct_.places();
    auto seen = first;  // places from the first to here have come
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (places[i] < first || places[i] >= last) continue;
        const auto* from = &batch.gradients[i * width_];
        auto* to = &merged_.gradients[places[i] * width_];
        if (places[i] == seen) {
            std::copy_n(from, width_, to);
            ++seen;
        } else {
            kernels::loops::add(from, to, width_);
        }
        if (batch.shows.empty()) continue;
        merged_.shows[places[i]] += batch.shows[i];
        merged_.clicks[places[i]] += batch.clicks[i];
    }
}

}  // namespace dtrain::ps
