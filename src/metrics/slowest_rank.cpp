// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/slowest_rank.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "base/text.hpp"
#include "metrics/html.hpp"

namespace dtrain::metrics {
namespace {

constexpr std::size_t max_ranks_named = 5;

std::string host_of(const Run& run, int rank) {
    const auto found = std::ranges::find(run.locations, rank, &RankLocation::rank);
    return found == run.locations.end() ? "" : found->host;
}

std::string named(int rank, const std::string& host) {
    return fmt::format("rank {}{}", rank, host.empty() ? "" : " on " + host);
}

}  // namespace

std::optional<SlowestRank> slowest_of(const std::vector<RankTimes>& times) {
    constexpr double fraction_that_matters = 0.02, seconds_that_matter = 0.01;  // fraction of the total time
    constexpr double fraction_that_is_urgent = 0.1, seconds_that_are_urgent = 1;
    if (times.size() < 2) return std::nullopt;
    if (std::ranges::any_of(times, [](const RankTimes& rank) { return !rank.wait; })) return std::nullopt;
    const auto [min, max] = std::ranges::minmax_element(times, {}, &RankTimes::wait);
    const auto waited = *max->wait - *min->wait;
    if (waited <= fraction_that_matters * max->all() || waited < seconds_that_matter) return std::nullopt;
    return SlowestRank{
        .rank = min->rank,
        .waited = waited,
        .is_urgent = waited >= seconds_that_are_urgent && waited >= fraction_that_is_urgent * max->all()};
}

std::vector<RankTimes> times_since(const std::vector<RankTimes>& before, std::vector<RankTimes> now) {
    const auto less = [](std::optional<double>& value, const std::optional<double>& earlier) {
        if (value) *value -= earlier.value_or(0);
    };
    for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
        now[i].compute -= before[i].compute;
        less(now[i].communicate, before[i].communicate);
        less(now[i].wait, before[i].wait);
        now[i].input -= before[i].input;
        now[i].rest -= before[i].rest;
    }
    return now;
}

std::string text_of(int rank, const std::string& host, double waited) {
    return fmt::format("{} was the slowest: others waited up to {} for it", named(rank, host),
                       duration_text(waited));
}

std::string slowest_rank(const Run& run) {
    const auto slowest = slowest_of(run.times);
    if (!slowest) return "";
    auto text = text_of(slowest->rank, host_of(run, slowest->rank), slowest->waited);
    text.front() = 'R';
    return text + ".";
}

std::string slow_epochs_text(const Run& run) {
    if (run.slow_epochs.empty()) return "";
    std::map<int, std::size_t> epochs_of;
    for (const auto& slow : run.slow_epochs) ++epochs_of[slow.rank];
    std::vector<std::pair<int, std::size_t>> ranks(epochs_of.begin(), epochs_of.end());
    std::ranges::stable_sort(ranks, std::greater{}, &std::pair<int, std::size_t>::second);
    std::vector<std::string> parts;
    for (const auto& [rank, epochs] : ranks) {
        if (parts.size() == max_ranks_named) {
            parts.emplace_back("others in the rest");
            break;
        }
        parts.push_back(fmt::format("in {} for {}", epochs, named(rank, host_of(run, rank))));
    }
    return fmt::format("In {} others waited for a rank: {}.", counted(run.slow_epochs.size(), "epoch"),
                       join(parts, ", "));
}

}  // namespace dtrain::metrics
