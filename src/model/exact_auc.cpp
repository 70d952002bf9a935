// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "model/exact_auc.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace dtrain::model {

void add_scored(std::vector<ScoredSample>& to, std::span<const float> scores, std::span<const float> labels,
                std::span<const float> weights) {
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (weights[i] > 0) to.push_back({scores[i], labels[i]});
}

double exact_auc(std::vector<ScoredSample> samples) {
    if (std::ranges::any_of(samples, [](const auto& sample) { return std::isnan(sample.score); }))
        return std::numeric_limits<double>::quiet_NaN();
    std::ranges::sort(samples, {}, &ScoredSample::score);
    std::int64_t area = 0;  // doubled, so that it is an integer
    std::int64_t positives = 0;
    std::int64_t negatives = 0;
    for (auto first = samples.begin(); first != samples.end();) {
        const auto last = std::find_if(first, samples.end(),
                                       [&](const auto& sample) { return sample.score != first->score; });
        const auto tied = std::count_if(first, last, [](const auto& sample) { return sample.label > 0; });
        area += tied * (2 * negatives + (last - first - tied));
        positives += tied;
        negatives += last - first - tied;
        first = last;
    }
    if (positives == 0 || negatives == 0) return 0.5;
    return static_cast<double>(area) /
           (2.0 * static_cast<double>(positives) * static_cast<double>(negatives));
}

double exact_auc(const std::vector<ScoredSample>& samples, const Communicator& communicator) {
    const auto ranks = static_cast<std::size_t>(communicator.size());
    std::vector<std::size_t> sent(ranks, 0);
    sent[0] = samples.size();
    std::vector<std::size_t> received(ranks, 0);
    std::size_t all = 0;
    const auto counts = communicator.all_gather(static_cast<std::int64_t>(samples.size()));
    if (communicator.rank() == 0)
        for (std::size_t rank = 0; rank < ranks; ++rank)
            all += received[rank] = static_cast<std::size_t>(counts[rank]);
    std::vector<ScoredSample> gathered(all);
    communicator.all_to_allv(std::span<const ScoredSample>(samples), sent, std::span(gathered), received);
    double area = communicator.rank() == 0 ? exact_auc(std::move(gathered)) : 0;
    communicator.broadcast(std::span(&area, 1));
    return area;
}

}  // namespace dtrain::model
