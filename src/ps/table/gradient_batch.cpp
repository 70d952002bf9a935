// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/gradient_batch.hpp"

#include <algorithm>

#include "kernels/loops/loops.hpp"
#include "ps/table/finite.hpp"

namespace dtrain::ps {

std::size_t ids_of(GradientParts parts) {
    std::size_t ids = 0;
    for (const auto& part : parts) ids += part.ids.size();
    return ids;
}

GradientParts GradientMerge::without_not_finite(GradientParts parts, std::uint64_t& rejected) {
    if (std::ranges::all_of(parts, [](const GradientBatch& part) { return is_finite(part.gradients); }))
        return parts;
    auto& [ids, gradients, shows, clicks] = finite_ = {};
    for (const auto& part : parts) {
        for (std::size_t i = 0; i < part.ids.size(); ++i) {
            const auto gradient = part.gradients.subspan(i * width_, width_);
            if (!is_finite(gradient)) {
                ++rejected;
                continue;
            }
            ids.push_back(part.ids[i]);
            gradients.insert(gradients.end(), gradient.begin(), gradient.end());
            if (part.shows.empty()) continue;
            shows.push_back(part.shows[i]);
            clicks.push_back(part.clicks[i]);
        }
    }
    whole_finite_ = {ids, gradients, shows, clicks};
    return {&whole_finite_, 1};
}

GradientParts GradientMerge::merged(GradientParts parts, TableTeam* team) {
    if (parts.size() == 1) {
        if (!distinct_.find_repeated(parts[0].ids)) return parts;
    } else {
        distinct_.begin(ids_of(parts));
        for (const auto& part : parts) distinct_.add(part.ids);
        if (!distinct_.has_repeated()) return parts;
    }
    const auto n = distinct_.ids().size();
    merged_.gradients.resize(n * width_);
    const bool has_statistics =
        std::ranges::any_of(parts, [](const GradientBatch& part) { return !part.shows.empty(); });
    merged_.shows.assign(has_statistics ? n : 0, 0);
    merged_.clicks.assign(has_statistics ? n : 0, 0);
    if (team != nullptr && team->is_for(distinct_.indices().size()))
        team->in_parts([&](std::size_t number, std::size_t threads) {
            add_up(parts, n * number / threads, n * (number + 1) / threads);
        });
    else
        add_up(parts, 0, n);
    whole_ = {distinct_.ids(), merged_.gradients, merged_.shows, merged_.clicks};
    return {&whole_, 1};
}

/// Sums gradients for the distinct ids in [first, last), in the order of the parts.
void GradientMerge::add_up(GradientParts parts, std::size_t first, std::size_t last) {
    auto indices = distinct_.indices();
    auto seen = first;  // indices in [first, seen) have occurred
    for (const auto& part : parts) {
        for (std::size_t i = 0; i < part.ids.size(); ++i) {
            const auto index = indices[i];
            if (index < first || index >= last) continue;
            const auto* from = &part.gradients[i * width_];
            auto* to = &merged_.gradients[index * width_];
            if (index == seen) {
                std::copy_n(from, width_, to);
                ++seen;
            } else {
                kernels::loops::add(from, to, width_);
            }
            if (part.shows.empty()) continue;
            merged_.shows[index] += part.shows[i];
            merged_.clicks[index] += part.clicks[i];
        }
        indices = indices.subspan(part.ids.size());
    }
}

}  // namespace dtrain::ps
