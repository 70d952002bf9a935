// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace/nccl_waits.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace dtrain::trace {
namespace {

/// Of a kind of operations in a communicator.
struct CountsOfKind {
    std::map<int, std::uint64_t> launched = {};  // by ranks of the job
    std::uint64_t most = 0;
    int unnamed = 0;
    std::uint64_t by_unnamed = 0;

    bool lags(int rank) const {
        const auto found = launched.find(rank);
        return found != launched.end() && found->second < most;
    }
    std::vector<int> behind(int rank) const {
        std::vector<int> ranks;
        const auto own = launched.find(rank);
        if (own == launched.end()) return ranks;
        for (const auto& [other, count] : launched)
            if (count < own->second) ranks.push_back(other);
        return ranks;
    }
};

struct CountedCommunicator {
    int size = 0;
    std::set<int> members = {};
    std::set<int> left = {};
    std::map<std::string, CountsOfKind> kinds = {};
};

using CountedCommunicators = std::map<std::string, CountedCommunicator>;

/// Of one that all ranks of the job are in: who is not named is one of those whose common number is known.
void name_unnamed(CountedCommunicator& communicator, const std::vector<RankState>& states) {
    if (communicator.size != static_cast<int>(states.size())) return;
    for (const auto& state : states) communicator.members.insert(state.rank);
    for (auto& [name, kind] : communicator.kinds) {
        if (static_cast<int>(kind.launched.size()) + kind.unnamed != communicator.size) continue;
        for (const auto& state : states) kind.launched.try_emplace(state.rank, kind.by_unnamed);
    }
}

CountedCommunicators communicators_of(const std::vector<RankState>& states) {
    CountedCommunicators communicators;
    for (const auto& state : states)
        for (const auto& membership : state.nccl.memberships) {
            auto& communicator = communicators[membership.communicator];
            communicator.size = std::max(communicator.size, membership.size);
            communicator.members.insert(state.rank);
            if (membership.has_left) communicator.left.insert(state.rank);
            for (const auto& count : membership.counts) {
                auto& kind = communicator.kinds[count.kind];
                kind.launched[state.rank] = count.launched;
                kind.most = std::max({kind.most, count.launched, count.most});
                if (count.unnamed > 0) {
                    kind.unnamed = count.unnamed;
                    kind.by_unnamed = count.by_unnamed;
                }
            }
        }
    for (auto& [number, communicator] : communicators) name_unnamed(communicator, states);
    return communicators;
}

std::string nccl_group(const std::string& number) {
    return "NCCL communicator " + number;
}

Operation operation_after(std::uint64_t launched, const std::string& kind, const std::string& communicator) {
    return {.group = nccl_group(communicator), .number = launched + 1, .name = kind};
}

/// The kind of which one rank has launched fewer than another; "": there is none.
std::string kind_behind(const CountedCommunicator& communicator, int rank, int other) {
    for (const auto& [name, kind] : communicator.kinds)
        if (kind.launched.contains(rank) && kind.launched.contains(other) &&
            kind.launched.at(rank) < kind.launched.at(other))
            return name;
    return {};
}

/// Ranks that have launched fewer of one kind and more of another: what they called differs.
std::map<int, std::vector<int>> diverged_ranks(const CountedCommunicator& communicator) {
    std::map<int, std::vector<int>> partners;
    for (const int rank : communicator.members)
        for (const int other : communicator.members)
            if (rank != other && !kind_behind(communicator, rank, other).empty() &&
                !kind_behind(communicator, other, rank).empty())
                partners[rank].push_back(other);
    return partners;
}

/// Those that differ from more ranks than these do are wrong.
std::optional<SequenceFault> fault_of(const std::string& number, const CountedCommunicator& communicator) {
    const auto partners = diverged_ranks(communicator);
    if (partners.empty()) return std::nullopt;
    std::size_t most = 0;
    for (const auto& [rank, of_rank] : partners) most = std::max(most, of_rank.size());
    std::vector<int> culprits;
    for (const auto& [rank, of_rank] : partners)
        if (of_rank.size() == most) culprits.push_back(rank);
    const int culprit = culprits.back();
    const auto& others = partners.at(culprit);
    const int other = others.front();
    const bool unclear =
        std::ranges::any_of(others, [&](int each) { return partners.at(each).size() == most; });
    const auto called = kind_behind(communicator, other, culprit);
    const auto expected = kind_behind(communicator, culprit, other);
    return SequenceFault{
        .kind = unclear ? SequenceFault::Kind::unclear : SequenceFault::Kind::differs,
        .culprits = unclear ? std::vector{culprit} : culprits,
        .others = others,
        .called = operation_after(communicator.kinds.at(called).launched.at(other), called, number),
        .expected = operation_after(communicator.kinds.at(expected).launched.at(culprit), expected, number)};
}

/// An operation that a rank has launched and others have not.
struct NcclWait {
    Operation operation = {};
    std::vector<int> waits_for = {};
    std::uint64_t missing = 0;  ///< how many the last one of them lacks
};

std::map<int, std::vector<NcclWait>> waits_of(const CountedCommunicators& communicators) {
    std::map<int, std::vector<NcclWait>> waits;
    for (const auto& [number, communicator] : communicators)
        for (const auto& [name, kind] : communicator.kinds)
            for (const auto& [rank, launched] : kind.launched) {
                auto behind = kind.behind(rank);
                if (behind.empty()) continue;
                auto least = launched;
                for (const int other : behind) least = std::min(least, kind.launched.at(other));
                waits[rank].push_back({.operation = operation_after(least, name, number),
                                       .waits_for = std::move(behind),
                                       .missing = launched - least});
            }
    return waits;
}

std::vector<BlockedRank> blocked_of(const std::map<int, std::vector<NcclWait>>& waits) {
    // What waits for a rank that waits for nobody shows the cause.
    const auto rank_of_wait = [&](const NcclWait& wait) {
        const bool shows_cause =
            std::ranges::any_of(wait.waits_for, [&](int rank) { return !waits.contains(rank); });
        return std::tuple(shows_cause, wait.waits_for.size(), wait.missing);
    };
    std::vector<BlockedRank> blocked;
    for (const auto& [rank, of_rank] : waits) {
        const auto best = std::ranges::max_element(of_rank, {}, rank_of_wait);
        blocked.push_back({.rank = rank, .operation = best->operation, .waits_for = best->waits_for});
    }
    return blocked;
}

std::vector<LaggingRank> lagging_of(const CountedCommunicators& communicators,
                                    const std::map<int, std::vector<NcclWait>>& waits) {
    std::map<int, std::pair<std::uint64_t, LaggingRank>> worst;
    for (const auto& [number, communicator] : communicators)
        for (const auto& [name, kind] : communicator.kinds)
            for (const auto& [rank, launched] : kind.launched) {
                if (!kind.lags(rank) || waits.contains(rank)) continue;
                int launched_by = kind.by_unnamed > launched ? kind.unnamed : 0;
                if (static_cast<int>(kind.launched.size()) == communicator.size) launched_by = 0;
                const auto own = launched;
                launched_by += static_cast<int>(std::ranges::count_if(
                    kind.launched, [&](const auto& each) { return each.second > own; }));
                auto& [missing, known] = worst[rank];
                if (kind.most - launched <= missing) continue;
                missing = kind.most - launched;
                known = {.rank = rank,
                         .missing = operation_after(launched, name, number),
                         .launched_by = launched_by};
            }
    std::vector<LaggingRank> lagging;
    for (auto& [rank, entry] : worst) lagging.push_back(std::move(entry.second));
    return lagging;
}

std::vector<LeavingRank> leaving_of(const CountedCommunicators& communicators) {
    std::vector<LeavingRank> leaving;
    for (const auto& [number, communicator] : communicators) {
        std::vector<int> others;
        std::ranges::set_difference(communicator.members, communicator.left, std::back_inserter(others));
        if (others.empty()) continue;
        for (const int rank : communicator.left)
            leaving.push_back({.rank = rank, .communicator = nccl_group(number), .others = others});
    }
    return leaving;
}

}  // namespace

NcclWaits nccl_waits(const std::vector<RankState>& states) {
    const auto communicators = communicators_of(states);
    const auto waits = waits_of(communicators);
    NcclWaits found{.blocked = blocked_of(waits),
                    .lagging = lagging_of(communicators, waits),
                    .leaving = leaving_of(communicators)};
    for (const auto& [number, communicator] : communicators)
        if (!found.fault) found.fault = fault_of(number, communicator);
    return found;
}

std::vector<int> unreached_by_nccl(const std::vector<RankState>& states) {
    std::vector<int> ranks;
    for (const auto& state : states) {
        const auto reports_it_dead = [&](const RankState& other) {
            return other.rank != state.rank &&
                   std::ranges::find(other.nccl.dead, state.nccl.self) != other.nccl.dead.end();
        };
        if (state.nccl.self.pid != 0 && state.activity != Activity::has_ended &&
            std::ranges::any_of(states, reports_it_dead))
            ranks.push_back(state.rank);
    }
    return ranks;
}

}  // namespace dtrain::trace
