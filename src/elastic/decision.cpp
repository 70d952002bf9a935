// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/decision.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "elastic/rank_order.hpp"

namespace dtrain::elastic {
namespace {

using What = Decision::What;
using Names = std::vector<std::string>;

/// The elements of `names` that are in `others`, or those that are not.
Names chosen(const Names& names, const Names& others, bool among) {
    const std::unordered_set<std::string_view> present(others.begin(), others.end());
    Names out;
    std::copy_if(names.begin(), names.end(), std::back_inserter(out),
                 [&](const auto& name) { return present.contains(name) == among; });
    return out;
}

std::string listed(const Names& names) {
    constexpr std::size_t shown = 8;
    const auto some = std::span(names).first(std::min(names.size(), shown));
    return join(some, ",") + (names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "");
}

/// Whether there are enough nodes for a start.
bool suffices(const Policy& policy, const Nodes& nodes) {
    const auto alive = static_cast<int>(nodes.alive.size());
    if (alive >= policy.wanted.max) return true;
    return alive >= policy.wanted.min && nodes.unchanged >= policy.settle;
}

}  // namespace

Decision decide_waiting(const Policy& policy, const Nodes& nodes) {
    const auto state = fmt::format("np {} with hosts [{}]", policy.wanted.to_string(), listed(nodes.alive));
    if (!suffices(policy, nodes)) {
        const bool too_few = static_cast<int>(nodes.alive.size()) < policy.wanted.min;
        if (too_few && policy.timeout && nodes.unchanged >= *policy.timeout)
            return {
                .what = What::give_up,
                .reason = fmt::format("peer not ready: {} after {} s", state, seconds_text(*policy.timeout))};
        return {.reason = "not ready for " + state};
    }
    auto order = rank_order(nodes.previous, nodes.alive, policy.wanted.max);
    const auto not_done = chosen(order, nodes.busy, true);
    if (!not_done.empty()) return {.reason = "waiting for ranks that still run on " + listed(not_done)};
    auto reason = fmt::format("ready with hosts [{}]", listed(order));
    return {.what = What::start, .order = std::move(order), .reason = std::move(reason)};
}

Decision decide_running(const Policy& policy, const Nodes& nodes) {
    const auto gone = chosen(nodes.previous, nodes.alive, false);
    if (!gone.empty()) {
        const auto reason = fmt::format("{} left", listed(gone));
        return {.what = policy.level == Level::off ? What::give_up : What::stop, .reason = reason};
    }
    if (static_cast<int>(nodes.previous.size()) > policy.wanted.max)
        return {.what = What::stop, .reason = fmt::format("np is {} now", policy.wanted.to_string())};
    const auto newcomers = chosen(nodes.alive, nodes.previous, false);
    const bool room = static_cast<int>(nodes.previous.size()) < policy.wanted.max;
    if (room && !newcomers.empty() && suffices(policy, nodes))
        return {.what = What::stop, .reason = fmt::format("{} joined", listed(newcomers))};
    return {.reason = "goes on"};
}

}  // namespace dtrain::elastic
