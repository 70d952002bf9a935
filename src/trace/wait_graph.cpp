// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace/wait_graph.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "trace/stack_reading.hpp"

namespace dtrain::trace {
namespace {

const Group* group_of(const RankState& state, const Operation& operation) {
    // Groups may have equal names after one of them was freed: the last one counts.
    const auto found = std::find_if(state.groups.rbegin(), state.groups.rend(),
                                    [&](const Group& group) { return group.name == operation.group; });
    return found == state.groups.rend() ? nullptr : &*found;
}

std::vector<int> members_of(const Group& group) {
    if (!group.members.empty()) return group.members;
    std::vector<int> members(static_cast<std::size_t>(std::max(0, group.size)));
    std::iota(members.begin(), members.end(), 0);
    return members;
}

const RankState* state_of(const std::vector<RankState>& states, int rank) {
    const auto found = std::ranges::find(states, rank, &RankState::rank);
    return found == states.end() ? nullptr : &*found;
}

bool is_wait_for_own_gpu(const Operation& operation) {
    return operation.kind == OperationKind::own_gpu && operation.waited;
}

bool has_called(const RankState& state, const Operation& operation) {
    if (state.activity == Activity::has_ended && state.groups.empty()) return false;
    // Of a rank whose records could not be had, its stack may tell that it waits, too.
    if (state.groups.empty() && waiting_call(state.stack)) return true;
    const auto is_of_gpu = [&](const Operation& other) {
        return is_wait_for_own_gpu(other) && other.group == operation.group &&
               other.number <= operation.number;
    };
    if (std::ranges::any_of(state.operations, is_of_gpu)) return false;
    const auto* const group = group_of(state, operation);
    return group != nullptr && group->last_number >= operation.number;
}

std::vector<int> absent_from(const std::vector<RankState>& states, const RankState& waiting,
                             const Operation& operation) {
    const auto* const group = group_of(waiting, operation);
    if (group == nullptr) return {};
    std::vector<int> absent;
    for (const int member : members_of(*group)) {
        const auto* const state = state_of(states, member);
        if (state != nullptr && !has_called(*state, operation)) absent.push_back(member);
    }
    return absent;
}

/// Without records only stacks tell: those wait that are in a call of a communication library, for those that
/// are not in the same one.
std::vector<int> elsewhere(const std::vector<RankState>& states, const Operation& operation, WaitsFor what) {
    std::vector<int> ranks;
    for (const auto& state : states) {
        const auto other = blocking_operation(state, what);
        if (!other || other->name != operation.name) ranks.push_back(state.rank);
    }
    return ranks;
}

std::vector<int> awaited(const std::vector<RankState>& states, const RankState& state,
                         const Operation& operation, WaitsFor what) {
    switch (operation.kind) {
        case OperationKind::collective:
            return operation.number == 0 ? elsewhere(states, operation, what)
                                         : absent_from(states, state, operation);
        case OperationKind::send:
        case OperationKind::receive:
            return operation.peer < 0 ? std::vector<int>() : std::vector{operation.peer};
        case OperationKind::receive_any: {
            std::vector<int> others;
            if (const auto* const group = group_of(state, operation))
                for (const int member : members_of(*group))
                    if (member != state.rank) others.push_back(member);
            return others;
        }
        case OperationKind::other:
        case OperationKind::own_gpu:
            return {};
    }
    return {};
}

}  // namespace

bool waits_for_own_gpu(const RankState& state) {
    return std::ranges::any_of(state.operations, is_wait_for_own_gpu);
}

std::vector<RankState> without_waits_for_own_gpu(std::vector<RankState> states) {
    for (auto& state : states) std::erase_if(state.operations, is_wait_for_own_gpu);
    return states;
}

std::optional<Operation> blocking_operation(const RankState& state, WaitsFor what) {
    if (state.activity == Activity::has_ended || waits_for_own_gpu(state)) return std::nullopt;
    const Operation* longest = nullptr;
    for (const auto& operation : state.operations)
        if (operation.waited && (longest == nullptr || *operation.waited > *longest->waited))
            longest = &operation;
    if (longest != nullptr) return *longest;
    if (what == WaitsFor::begun)
        for (const auto& operation : state.operations)
            if (!operation.has_ended) return operation;
    if (!state.groups.empty() && what != WaitsFor::called) return std::nullopt;
    const auto call = waiting_call(state.stack);
    if (!call) return std::nullopt;
    return Operation{.name = call->name, .source = call->source};
}

std::vector<BlockedRank> blocked_ranks(const std::vector<RankState>& states, WaitsFor what) {
    std::vector<BlockedRank> blocked;
    for (const auto& state : states)
        if (auto operation = blocking_operation(state, what)) {
            auto waits_for = awaited(states, state, *operation, what);
            operation->source = line_behind(operation->source, state.stack);
            blocked.push_back({state.rank, std::move(*operation), std::move(waits_for)});
        }
    return blocked;
}

std::vector<int> awaited_by_all(const std::vector<BlockedRank>& blocked) {
    std::map<int, int> waiting_for;
    for (const auto& rank : blocked)
        for (const int other : rank.waits_for) ++waiting_for[other];
    for (const auto& rank : blocked) waiting_for.erase(rank.rank);
    std::vector<int> ranks;
    for (const auto& [rank, count] : waiting_for) ranks.push_back(rank);
    std::ranges::stable_sort(ranks, std::ranges::greater(), [&](int rank) { return waiting_for.at(rank); });
    return ranks;
}

std::vector<int> circle_of(const std::vector<BlockedRank>& blocked) {
    std::map<int, const BlockedRank*> of;
    for (const auto& rank : blocked) of[rank.rank] = &rank;
    for (const auto& start : blocked) {
        std::vector<int> path;
        std::set<int> seen;
        int at = start.rank;
        while (of.contains(at) && seen.insert(at).second) {
            path.push_back(at);
            const auto& next = of.at(at)->waits_for;
            const auto known = std::ranges::find_if(next, [&](int rank) { return of.contains(rank); });
            if (known == next.end()) break;
            at = *known;
        }
        if (const auto begin = std::ranges::find(path, at);
            begin != path.end() && path.size() > 1 && seen.contains(at) && path.back() != at)
            return {begin, path.end()};
    }
    return {};
}

}  // namespace dtrain::trace
