// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "model/gather_times.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace dtrain::model {

std::vector<metrics::RankTimes> gather_times(const Communicator& ranks, const train::PhaseTimes& own,
                                             double seconds, const ExchangesKnown& known, int first) {
    const auto rest = std::max(0.0, seconds - own.compute - own.communicate - own.wait - own.input);
    const std::array mine{own.compute, own.communicate, own.wait, own.input, rest};
    std::vector<double> all(mine.size() * static_cast<std::size_t>(ranks.size()));
    ranks.all_gather(std::span<const double>(mine), std::span<double>(all));
    std::vector<metrics::RankTimes> times;
    for (int rank = 0; rank < ranks.size(); ++rank) {
        const auto* const of_rank = all.data() + mine.size() * static_cast<std::size_t>(rank);
        auto& added = times.emplace_back(
            metrics::RankTimes{first + rank, of_rank[0], of_rank[1], of_rank[2], of_rank[3], of_rank[4]});
        if (!known.sees) added.communicate = added.wait = std::nullopt;
        if (!known.compares) added.wait = std::nullopt;
    }
    return times;
}

}  // namespace dtrain::model
