// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "report/slowest_rank.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report/html.hpp"

namespace dtrain::report {

std::string slowest_rank(const Run& run) {
    constexpr double share_that_matters = 0.02;  // of the time
    if (run.times.size() < 2) return "";
    if (std::ranges::any_of(run.times, [](const RankTimes& times) { return !times.wait; })) return "";
    const auto [least, most] = std::ranges::minmax_element(run.times, {}, &RankTimes::wait);
    const auto waited = *most->wait - *least->wait;
    if (waited <= share_that_matters * most->all()) return "";
    const auto place = std::ranges::find(run.places, least->rank, &RankPlace::rank);
    const auto where = place == run.places.end() || place->host.empty() ? "" : " on " + place->host;
    return fmt::format("Rank {}{} was the slowest: others waited up to {} for it.", least->rank, where,
                       duration_text(waited));
}

}  // namespace dtrain::report
