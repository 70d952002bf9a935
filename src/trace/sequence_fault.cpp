// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace/sequence_fault.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace dtrain::trace {
namespace {

/// A rank's collective operations in a group, by their numbers.
using Calls = std::map<std::uint64_t, Operation>;
using CallsOfRanks = std::map<int, Calls>;

/// Groups with the same name and different ranks are parts of one split.
using GroupKey = std::pair<std::string, int>;

std::map<GroupKey, CallsOfRanks> calls_by_group(const std::vector<RankState>& states) {
    std::map<GroupKey, CallsOfRanks> out;
    for (const auto& state : states) {
        std::map<std::string, int> first_members;
        for (const auto& group : state.groups)
            first_members[group.name] = group.members.empty() ? 0 : group.members.front();
        for (const auto& operation : state.operations)
            if (operation.kind == OperationKind::collective && operation.number > 0)
                out[{operation.group, first_members[operation.group]}][state.rank][operation.number] =
                    operation;
    }
    return out;
}

/// What is not known of one of them may be equal.
bool match(const Operation& one, const Operation& other) {
    const bool same_count = !one.count || !other.count || one.count == other.count;
    const bool same_root = one.peer < 0 || other.peer < 0 || one.peer == other.peer;
    return one.name == other.name && one.type == other.type && one.reduction == other.reduction &&
           same_root && same_count;
}

bool are_the_same_call(const Operation& one, const Operation& other) {
    return match(one, other) && one.source == other.source;
}

const Operation* call_of(const Calls& calls, std::uint64_t number) {
    const auto found = calls.find(number);
    return found == calls.end() ? nullptr : &found->second;
}

/// Ranks that called the same operation under a number.
struct Party {
    Operation called = {};
    std::vector<int> ranks = {};
};

std::vector<Party> parties_at(const CallsOfRanks& calls, std::uint64_t number) {
    std::vector<Party> parties = {};
    for (const auto& [rank, of_rank] : calls) {
        const auto* const call = call_of(of_rank, number);
        if (call == nullptr) continue;
        auto party =
            std::ranges::find_if(parties, [&](const Party& known) { return match(known.called, *call); });
        if (party == parties.end()) party = parties.insert(party, {.called = *call, .ranks = {}});
        party->ranks.push_back(rank);
    }
    std::ranges::stable_sort(parties, std::ranges::greater(),
                             [](const Party& party) { return party.ranks.size(); });
    return parties;
}

/// Whether any rank called `next` right after `first` before `number`.
bool has_followed(const CallsOfRanks& calls, const Operation& first, const Operation& next,
                  std::uint64_t number) {
    for (const auto& [rank, of_rank] : calls)
        for (const auto& [at, call] : of_rank) {
            const auto* const after = call_of(of_rank, at + 1);
            if (at + 1 < number && after != nullptr && are_the_same_call(call, first) &&
                are_the_same_call(*after, next))
                return true;
        }
    return false;
}

/// Whether what a party called is what came after the operation before it earlier, too.
bool is_usual(const CallsOfRanks& calls, const Party& party, std::uint64_t number) {
    const auto* const before = call_of(calls.at(party.ranks.front()), number - 1);
    return before != nullptr && has_followed(calls, *before, party.called, number);
}

SequenceFault::Kind kind_of(const CallsOfRanks& calls, const Party& right, const Party& wrong,
                            std::uint64_t number) {
    const auto* const next = call_of(calls.at(wrong.ranks.front()), number + 1);
    if (next != nullptr && are_the_same_call(*next, right.called)) return SequenceFault::Kind::reordered;
    const auto* const after_right = call_of(calls.at(right.ranks.front()), number + 1);
    const bool comes_next = after_right != nullptr && are_the_same_call(*after_right, wrong.called);
    if (comes_next || has_followed(calls, right.called, wrong.called, number))
        return SequenceFault::Kind::skipped;
    return SequenceFault::Kind::differs;
}

std::optional<SequenceFault> fault_at(const CallsOfRanks& calls, std::uint64_t number) {
    auto parties = parties_at(calls, number);
    if (parties.size() < 2) return std::nullopt;
    const bool is_tie = parties[0].ranks.size() == parties[1].ranks.size();
    if (is_tie && !is_usual(calls, parties[0], number) && is_usual(calls, parties[1], number))
        std::swap(parties[0], parties[1]);
    const auto& right = parties[0];
    const auto& wrong = parties[1];
    const bool unclear = is_tie && is_usual(calls, right, number) == is_usual(calls, wrong, number);
    return SequenceFault{
        .kind = unclear ? SequenceFault::Kind::unclear : kind_of(calls, right, wrong, number),
        .culprits = wrong.ranks,
        .others = right.ranks,
        .called = wrong.called,
        .expected = right.called};
}

/// A rank whose operations match those of the others, but one later: from some number on its lines are those
/// that the others have under the next number, and before that they were the same.
std::optional<SequenceFault> shifted_lines(const CallsOfRanks& calls) {
    for (const auto& [rank, own] : calls)
        for (const auto& [other_rank, other] : calls) {
            if (rank == other_rank) continue;
            for (const auto& [number, call] : own) {
                const auto* const expected = call_of(other, number);
                const auto* const before = call_of(own, number - 1);
                const auto* const other_before = call_of(other, number - 1);
                if (expected == nullptr || before == nullptr || other_before == nullptr) continue;
                if (!are_the_same_call(*before, *other_before) || are_the_same_call(call, *expected))
                    continue;
                bool is_shifted = true;
                int compared = 0;
                for (auto at = number; const auto* const mine = call_of(own, at); ++at) {
                    const auto* const next = call_of(other, at + 1);
                    if (next == nullptr) break;
                    is_shifted = is_shifted && are_the_same_call(*mine, *next);
                    ++compared;
                }
                if (!is_shifted || compared < 1) continue;
                return SequenceFault{.kind = SequenceFault::Kind::skipped,
                                     .culprits = {rank},
                                     .others = {other_rank},
                                     .called = call,
                                     .expected = *expected};
            }
        }
    return std::nullopt;
}

}  // namespace

std::optional<SequenceFault> first_sequence_fault(const std::vector<RankState>& states) {
    const auto groups = calls_by_group(states);
    for (const auto& [key, calls] : groups) {
        if (calls.size() < 2) continue;
        std::map<std::uint64_t, int> numbers;
        for (const auto& [rank, of_rank] : calls)
            for (const auto& [number, call] : of_rank) ++numbers[number];
        for (const auto& [number, ranks] : numbers)
            if (ranks > 1)
                if (auto fault = fault_at(calls, number)) {
                    const bool unclear = fault->kind == SequenceFault::Kind::unclear;
                    auto earlier = unclear ? shifted_lines(calls) : std::nullopt;
                    return earlier ? earlier : fault;
                }
    }
    for (const auto& [key, calls] : groups)
        if (auto fault = shifted_lines(calls)) return fault;
    return std::nullopt;
}

std::optional<Operation> usual_instead_of_last(const RankState& state) {
    const auto& calls = state.operations;
    if (calls.size() < 2) return std::nullopt;
    const auto& last = calls.back();
    const auto& before = calls[calls.size() - 2];
    std::optional<Operation> usual;
    for (std::size_t at = 0; at + 2 < calls.size(); ++at) {
        if (calls[at].group != before.group || !are_the_same_call(calls[at], before)) continue;
        const auto& next = calls[at + 1];
        if (next.group == last.group && are_the_same_call(next, last)) return std::nullopt;
        usual = next;
    }
    return usual;
}

}  // namespace dtrain::trace
