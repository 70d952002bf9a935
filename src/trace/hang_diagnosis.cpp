// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace/hang_diagnosis.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/first_sentences.hpp"
#include "base/text.hpp"
#include "trace/nccl_waits.hpp"
#include "trace/rank_ranges.hpp"
#include "trace/sequence_fault.hpp"
#include "trace/stack_reading.hpp"
#include "trace/wait_graph.hpp"

namespace dtrain::trace {
namespace {

using Cause = HangDiagnosis::Cause;

constexpr std::size_t described_culprits = 3;
constexpr std::size_t described_nodes = 3;

std::string list_of(std::vector<int> ranks) {
    std::ranges::sort(ranks);
    constexpr std::size_t shortest_run = 3;
    return rank_ranges(ranks, shortest_run);
}

std::string ranks_text(const std::vector<int>& ranks) {
    return ranks.size() == 1 ? fmt::format("rank {}", ranks.front())
                             : fmt::format("ranks [{}]", list_of(ranks));
}

std::string arguments_of(const Operation& operation) {
    std::vector<std::string> parts;
    if (operation.count.value_or(0) > 0 && operation.type.empty())
        parts.push_back(fmt::format("{}", *operation.count));
    if (operation.count && !operation.type.empty())
        parts.push_back(fmt::format("{} x {}", operation.type, *operation.count));
    if (!operation.count && !operation.type.empty()) parts.push_back(operation.type);
    if (!operation.reduction.empty()) parts.push_back(operation.reduction);
    if (operation.kind == OperationKind::collective && operation.peer >= 0)
        parts.push_back(fmt::format("root {}", operation.peer));
    if (operation.kind != OperationKind::collective && operation.tag != 0)
        parts.push_back(fmt::format("tag {}", operation.tag));
    return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

bool all_have_come(const BlockedRank& each) {
    return each.waits_for.empty() && each.operation.number > 0;
}

/// Whether any rank is in an operation that it has recorded.
bool some_is_recorded(const std::vector<RankState>& states) {
    return std::ranges::any_of(states, any_goes_on, &RankState::operations);
}

class Diagnosis {
  public:
    explicit Diagnosis(const std::vector<RankState>& states) : states_(states) {
        for (const auto what : {WaitsFor::waited, WaitsFor::begun, WaitsFor::called})
            if (blocked_.empty()) blocked_ = blocked_ranks(states, what);
        if (some_is_recorded(states)) return;
        nccl_ = nccl_waits(states);
        if (nccl_.explains()) blocked_ = nccl_.blocked;
    }

    HangDiagnosis result() const {
        HangDiagnosis out;
        if (auto late = ranks_that(Activity::has_not_started); !late.empty())
            out = of_unstarted(std::move(late));
        else if (const auto stopped = ranks_that(Activity::is_stopped); !stopped.empty())
            out = of_ranks(Cause::stopped, stopped);
        else if (const auto fault = first_sequence_fault(states_))
            out = of_fault(*fault);
        else if (nccl_.fault)
            out = of_fault(*nccl_.fault);
        else if (const auto awaited = awaited_by_all(blocked_); !awaited.empty())
            out = of_awaited(awaited);
        else if (!nccl_.lagging.empty())
            out = of_awaited(ranks_in(nccl_.lagging));
        else if (const auto circle = circle_of(blocked_); !circle.empty())
            out = of_circle(circle);
        else if (const auto left = left_behind(); !left.empty() && 2 * left.size() <= blocked_.size())
            out = of_left_behind(left);
        else if (!nccl_.leaving.empty())
            out = of_awaited(ranks_in(nccl_.leaving));
        else if (const auto unreached = unreached_by_nccl(states_); !unreached.empty())
            out = of_unreached(unreached);
        else if (!blocked_.empty())
            out = of_exchange();
        else if (const auto kernel = ranks_that(Activity::is_in_kernel); !kernel.empty())
            out = of_ranks(Cause::in_kernel, kernel);
        else
            out = of_nothing_known();
        out.waiting = waiting_but(out.culprits, awaited_text(out));
        return out;
    }

  private:
    const RankState& state(int rank) const {
        static const RankState none;
        const auto found = std::ranges::find(states_, rank, &RankState::rank);
        return found == states_.end() ? none : *found;
    }

    const BlockedRank* blocked(int rank) const {
        const auto found = std::ranges::find(blocked_, rank, &BlockedRank::rank);
        return found == blocked_.end() ? nullptr : &*found;
    }

    std::string named(int rank) const { return fmt::format("rank {} on {}", rank, state(rank).host); }
    std::string named(const std::vector<int>& ranks) const {
        return ranks.size() == 1 ? named(ranks.front()) : ranks_text(ranks);
    }

    template <class Each>
    static std::vector<int> ranks_in(const std::vector<Each>& all) {
        std::vector<int> ranks;
        for (const auto& each : all)
            if (std::ranges::find(ranks, each.rank) == ranks.end()) ranks.push_back(each.rank);
        return ranks;
    }

    std::vector<int> ranks_that(Activity activity) const {
        std::vector<int> ranks;
        for (const auto& each : states_)
            if (each.activity == activity) ranks.push_back(each.rank);
        return ranks;
    }

    /// The operation that most ranks wait in for this one, of several the earliest; null: none.
    const Operation* awaited_from(int rank) const {
        std::map<std::string, std::pair<int, const Operation*>> waits;
        for (const auto& each : blocked_)
            if (std::ranges::find(each.waits_for, rank) != each.waits_for.end()) {
                auto& [count, operation] = waits[to_text(each.operation)];
                ++count;
                operation = &each.operation;
            }
        const auto most = std::ranges::max_element(waits, [](const auto& one, const auto& other) {
            const auto& [count, operation] = one.second;
            const auto& [other_count, other_operation] = other.second;
            return count != other_count ? count < other_count : operation->number > other_operation->number;
        });
        return most == waits.end() ? nullptr : most->second.second;
    }

    /// "has not called all_reduce 17 of world", "has not sent what rank 0 receives".
    std::string what_is_missing(int rank) const {
        const auto* const operation = awaited_from(rank);
        if (operation == nullptr) return what_nccl_misses(rank);
        switch (operation->kind) {
            case OperationKind::send:
                return fmt::format("does not receive what is sent to it by {}", to_text(*operation));
            case OperationKind::receive:
            case OperationKind::receive_any:
                return fmt::format("has not sent what is waited for in {}", to_text(*operation));
            default:
                if (waits_for_own_gpu(state(rank)))
                    return fmt::format("has not come to {}", to_text(*operation));
                return operation->number == 0 ? fmt::format("is not in {}", to_text(*operation))
                                              : fmt::format("has not called {}", to_text(*operation));
        }
    }

    /// Where NCCL does not tell which ranks wait for this one.
    std::string what_nccl_misses(int rank) const {
        if (const auto lagging = std::ranges::find(nccl_.lagging, rank, &LaggingRank::rank);
            lagging != nccl_.lagging.end())
            return fmt::format("has not called {}, which {} have", to_text(lagging->missing),
                               lagging->launched_by == 0 ? "others" : plural_ranks(lagging->launched_by));
        if (nccl_.explains()) return {};
        if (const auto leaving = std::ranges::find(nccl_.leaving, rank, &LeavingRank::rank);
            leaving != nccl_.leaving.end())
            return fmt::format("has left {}, which {} {} in", leaving->communicator,
                               ranks_text(leaving->others), leaving->others.size() == 1 ? "is" : "are");
        return {};
    }

    static std::string plural_ranks(int count) {
        return count == 1 ? "one other rank" : fmt::format("{} other ranks", count);
    }

    std::string line_of(int rank) const {
        const auto& of = state(rank);
        if (waits_for_own_gpu(of)) return "waits for its GPU, which does not end what it computes";
        const auto call = program_call(of.stack);
        const auto phase = phase_of(of.stack);
        const auto* const does = of.activity == Activity::computes ? "computes" : "sleeps";
        if (call.empty() && of.activity == Activity::unknown) return "";
        const auto verb = phase.empty() ? std::string(does) : phase;
        const auto where = call.empty() ? verb : fmt::format("{} in {}", verb, call);
        const auto last = last_of(of);
        return last ? fmt::format("{}, after {}", where, to_text(*last)) : where;
    }

    /// What ended last of all that it called; nothing if something goes on.
    static std::optional<Operation> last_of(const RankState& state) {
        return state.operations.empty() || !state.operations.back().has_ended
                   ? std::nullopt
                   : std::optional(state.operations.back());
    }

    std::string sentence_of(int rank) const {
        const auto& of = state(rank);
        if (!of.is_known()) return named(rank) + " has not told what it does";
        const auto missing = what_is_missing(rank);
        switch (of.activity) {
            case Activity::has_ended:
                return fmt::format("{} has ended{}{}", named(rank), missing.empty() ? "" : ": it ", missing);
            case Activity::is_stopped:
                return fmt::format(
                    "{} is {}{}{}", named(rank),
                    of.held_by.empty()
                        ? fmt::format("stopped by a signal (\"kill -CONT {}\" there lets it go on)", of.pid)
                        : of.held_by,
                    missing.empty() ? "" : ": it ", missing);
            case Activity::is_in_kernel:
                return fmt::format("{} waits for the system{}{}{}", named(rank),
                                   of.file.empty() ? "" : ", for ", of.file,
                                   missing.empty() ? "" : ": it " + missing);
            default: {
                const auto where = line_of(rank);
                if (missing.empty()) return fmt::format("{} {}", named(rank), where);
                return fmt::format("{} {}{}{}", named(rank), missing, where.empty() ? "" : ": it ", where);
            }
        }
    }

    HangDiagnosis of_ranks(Cause cause, const std::vector<int>& ranks) const {
        return {.cause = cause,
                .culprits = ranks,
                .culprit = first_sentences(ranks, described_culprits,
                                           [this](int rank) { return sentence_of(rank); }),
                .waiting = {}};
    }

    HangDiagnosis of_unstarted(std::vector<int> ranks) const {
        auto sentence = ranks.size() == states_.size() ? std::string("no rank has started")
                                                       : fmt::format("{} {} not started", unstarted_by_node(),
                                                                     ranks.size() == 1 ? "has" : "have");
        return {.cause = Cause::not_started,
                .culprits = std::move(ranks),
                .culprit = std::move(sentence),
                .waiting = {}};
    }

    /// "rank 1 on node1, ranks [4-7] on node2 and those of 5 more nodes".
    std::string unstarted_by_node() const {
        std::vector<std::pair<std::string, std::vector<int>>> nodes;
        for (const auto& each : states_) {
            if (each.activity != Activity::has_not_started) continue;
            if (nodes.empty() || nodes.back().first != each.host)
                nodes.emplace_back(each.host, std::vector<int>());
            nodes.back().second.push_back(each.rank);
        }
        std::vector<std::string> parts;
        for (const auto& [host, own] : std::span(nodes).first(std::min(nodes.size(), described_nodes)))
            parts.push_back(fmt::format("{} on {}", ranks_text(own), host));
        const auto more = nodes.size() - parts.size();
        return join(parts, ", ") +
               (more > 0
                    ? fmt::format(" and those of {}", counted(static_cast<std::int64_t>(more), "more node"))
                    : "");
    }

    HangDiagnosis of_awaited(std::vector<int> awaited) const {
        // Who has told nothing may have called it: only if nobody else is left.
        const auto is_known = [&](int rank) { return state(rank).is_known(); };
        if (std::ranges::any_of(awaited, is_known)) std::erase_if(awaited, std::not_fn(is_known));
        const auto with = [&](Activity activity) {
            std::vector<int> ranks;
            for (const int rank : awaited)
                if (state(rank).activity == activity) ranks.push_back(rank);
            return ranks;
        };
        if (const auto ended = with(Activity::has_ended); !ended.empty())
            return of_ranks(Cause::has_ended, ended);
        if (const auto kernel = with(Activity::is_in_kernel); !kernel.empty())
            return of_ranks(Cause::in_kernel, kernel);
        return of_ranks(Cause::absent, awaited);
    }

    HangDiagnosis of_circle(const std::vector<int>& circle) const {
        // Without records, ranks that are in different calls look as if each waited for the others.
        const bool of_stacks = blocked(circle.front())->operation.number == 0 &&
                               blocked(circle.front())->operation.kind == OperationKind::collective;
        if (of_stacks) return of_fewest();
        if (const auto found = of_unusual_call()) return *found;
        std::vector<std::string> parts;
        for (const int rank : circle)
            parts.push_back(fmt::format("{} waits in {}{}", named(rank), to_text(blocked(rank)->operation),
                                        blocked(rank)->waits_for.size() == 1
                                            ? fmt::format(" for rank {}", blocked(rank)->waits_for.front())
                                            : ""));
        return {.cause = Cause::circle,
                .culprits = circle,
                .culprit = fmt::format("ranks wait for each other: {}", fmt::join(parts, "; ")),
                .waiting = {}};
    }

    /// If one rank alone waits in another operation than always before at that point.
    std::optional<HangDiagnosis> of_unusual_call() const {
        std::vector<std::pair<int, Operation>> unusual;
        for (const auto& each : blocked_)
            if (auto usual = usual_instead_of_last(state(each.rank)))
                unusual.emplace_back(each.rank, std::move(*usual));
        if (unusual.size() != 1) return std::nullopt;
        auto [rank, usual] = unusual.front();
        usual.number = 0;
        const auto& called = blocked(rank)->operation;
        const bool may_have_skipped = called.kind == OperationKind::collective;
        return HangDiagnosis{.cause = Cause::sequence,
                             .culprits = {rank},
                             .culprit = may_have_skipped
                                            ? fmt::format("{} skipped {}: it called {}", named(rank),
                                                          to_text(usual), to_text(called))
                                            : fmt::format("{} waits in {}, where it called {} before",
                                                          named(rank), to_text(called), to_text(usual)),
                             .waiting = {}};
    }

    /// Ranks that wait in an operation that all have called, and for which others wait in a later one.
    std::vector<int> left_behind() const {
        const auto waits_later = [](const BlockedRank& other, const BlockedRank& behind) {
            return other.operation.group == behind.operation.group &&
                   other.operation.number > behind.operation.number &&
                   std::ranges::find(other.waits_for, behind.rank) != other.waits_for.end();
        };
        std::vector<int> ranks;
        for (const auto& each : blocked_) {
            if (all_have_come(each) &&
                std::ranges::any_of(blocked_, [&](const auto& other) { return waits_later(other, each); }))
                ranks.push_back(each.rank);
        }
        return ranks;
    }

    HangDiagnosis of_left_behind(const std::vector<int>& ranks) const {
        return {.cause = Cause::exchange,
                .culprits = ranks,
                .culprit = fmt::format("{} {} in {}, which the others have left", named(ranks),
                                       ranks.size() == 1 ? "waits" : "wait",
                                       to_text(blocked(ranks.front())->operation)),
                .waiting = {}};
    }

    /// Ranks in the call that the fewest are in; in one of a message, if others are in a collective: these
    /// wait for all.
    HangDiagnosis of_fewest() const {
        const auto is_of_messages = [](const BlockedRank& each) {
            return is_call_of_messages(each.operation.name);
        };
        const bool some_are = std::ranges::any_of(blocked_, is_of_messages);
        std::map<std::string, std::vector<int>> calls;
        for (const auto& each : blocked_)
            if (!some_are || is_of_messages(each)) calls[to_text(each.operation)].push_back(each.rank);
        const auto fewest =
            std::ranges::min_element(calls, {}, [](const auto& call) { return call.second.size(); });
        return {.cause = Cause::sequence,
                .culprits = fewest->second,
                .culprit = fmt::format("{} {} in {}, where the others are not", named(fewest->second),
                                       fewest->second.size() == 1 ? "is" : "are", fewest->first),
                .waiting = {}};
    }

    HangDiagnosis of_fault(const SequenceFault& fault) const {
        const auto who = named(fault.culprits);
        auto sentence = [&] {
            switch (fault.kind) {
                case SequenceFault::Kind::skipped:
                    return fmt::format("{} skipped {}: it called {}", who, to_text(fault.expected),
                                       to_text(fault.called));
                case SequenceFault::Kind::reordered:
                    return fmt::format("{} called {} before {}, the others after it", who,
                                       to_text(fault.called), to_text(fault.expected));
                case SequenceFault::Kind::differs:
                    return fmt::format("{} called {} where {} called {}", who, to_text(fault.called),
                                       ranks_text(fault.others), to_text(fault.expected));
                case SequenceFault::Kind::unclear:
                    break;
            }
            return fmt::format("{} called {}, and {} called {}", who, to_text(fault.called),
                               ranks_text(fault.others), to_text(fault.expected));
        }();
        auto culprits = fault.culprits;
        if (fault.kind == SequenceFault::Kind::unclear)
            culprits.insert(culprits.end(), fault.others.begin(), fault.others.end());
        return {.cause = Cause::sequence,
                .culprits = std::move(culprits),
                .culprit = std::move(sentence),
                .waiting = {}};
    }

    HangDiagnosis of_unreached(const std::vector<int>& ranks) const {
        if (ranks.size() == states_.size())
            return {.cause = Cause::exchange,
                    .culprits = {},
                    .culprit = fmt::format("the processes of {} run, and NCCL does not reach them from the "
                                           "others: a network",
                                           ranks_text(ranks)),
                    .waiting = {}};
        auto out = of_ranks(Cause::absent, ranks);
        out.culprit += fmt::format(", and NCCL does not reach {} from the others",
                                   ranks.size() == 1 ? "its process" : "their processes");
        return out;
    }

    HangDiagnosis of_exchange() const {
        // A rank may be in a later operation, which waits for those in this one.
        if (const auto found = std::ranges::find_if(blocked_, all_have_come); found != blocked_.end())
            return {.cause = Cause::exchange,
                    .culprits = {},
                    .culprit = fmt::format("every rank has called {}, and it does not end",
                                           to_text(found->operation)),
                    .waiting = {}};
        const auto text = to_text(blocked_.front().operation);
        const bool all_in_one_call =
            blocked_.size() == states_.size() && blocked_.size() > 1 &&
            blocked_.front().operation.kind == OperationKind::collective &&
            std::ranges::all_of(blocked_, [&](const auto& each) { return to_text(each.operation) == text; });
        if (all_in_one_call && is_call_of_messages(blocked_.front().operation.name)) return of_messages();
        if (all_in_one_call)
            return {.cause = Cause::exchange,
                    .culprits = {},
                    .culprit = fmt::format("every rank is in {}, and it does not end", text),
                    .waiting = {}};
        return {.cause = Cause::unknown,
                .culprits = {},
                .culprit = fmt::format("{} in {}, and nothing tells for whom",
                                       blocked_.size() == 1 ? "a rank waits" : "all wait", text),
                .waiting = {}};
    }

    /// All are in the same call of a message, as their stacks tell.
    HangDiagnosis of_messages() const {
        std::vector<int> ranks;
        for (const auto& each : blocked_) ranks.push_back(each.rank);
        return {.cause = Cause::circle,
                .culprits = ranks,
                .culprit = fmt::format("ranks wait for each other: {} wait in {}", ranks_text(ranks),
                                       to_text(blocked_.front().operation)),
                .waiting = {}};
    }

    /// No rank waits for another as far as one sees: where each is.
    HangDiagnosis of_nothing_known() const {
        std::map<std::string, std::vector<int>> ranks_at;
        for (const auto& each : states_)
            if (each.activity != Activity::has_ended)
                if (auto where = line_of(each.rank); !where.empty()) ranks_at[where].push_back(each.rank);
        std::vector<std::string> parts;
        for (const auto& [where, ranks] : ranks_at)
            parts.push_back(fmt::format("{}: {}", ranks_text(ranks), where));
        return {.cause = Cause::unknown,
                .culprits = {},
                .culprit = parts.empty() ? "nothing tells where its ranks are"
                                         : fmt::format("{}", fmt::join(parts, "; ")),
                .waiting = {}};
    }

    /// The operation that the sentence about the culprit ends with, if it is what others wait in; else "".
    std::string awaited_text(const HangDiagnosis& found) const {
        const bool names_it = found.culprits.size() == 1 && found.cause != Cause::sequence &&
                              found.cause != Cause::exchange && state(found.culprits.front()).is_known();
        const auto* const operation = names_it ? awaited_from(found.culprits.front()) : nullptr;
        return operation == nullptr ? std::string() : to_text(*operation);
    }

    std::vector<std::string> waiting_but(const std::vector<int>& culprits,
                                         const std::string& named_before) const {
        std::map<std::string, std::pair<std::vector<int>, std::chrono::milliseconds>> waits;
        for (const auto& each : blocked_) {
            if (std::ranges::find(culprits, each.rank) != culprits.end()) continue;
            auto& [ranks, longest] = waits[to_text(each.operation)];
            ranks.push_back(each.rank);
            longest = std::max(longest, each.operation.waited.value_or(std::chrono::milliseconds(0)));
        }
        std::vector<std::pair<std::size_t, std::string>> sorted;
        for (const auto& [text, wait] : waits)
            sorted.emplace_back(
                wait.first.size(),
                fmt::format(
                    "{} {} in {}{}", ranks_text(wait.first), wait.first.size() == 1 ? "waits" : "wait",
                    text == named_before ? "it" : text,
                    wait.second.count() > 0
                        ? fmt::format(" for {:.0f} s", static_cast<double>(wait.second.count()) / 1000)
                        : ""));
        std::ranges::stable_sort(sorted, std::ranges::greater(), &std::pair<std::size_t, std::string>::first);
        std::vector<std::string> lines;
        for (auto& [count, line] : sorted) lines.push_back(std::move(line));
        return lines;
    }

    const std::vector<RankState>& states_;
    std::vector<BlockedRank> blocked_;
    NcclWaits nccl_;
};

}  // namespace

std::string to_text(const Operation& operation) {
    auto text = operation.name;
    if (operation.number > 0) text += fmt::format(" {}", operation.number);
    if (operation.kind == OperationKind::send) text += fmt::format(" to rank {}", operation.peer);
    if (operation.kind == OperationKind::receive) text += fmt::format(" from rank {}", operation.peer);
    if (operation.kind == OperationKind::receive_any) text += " from any rank";
    text += arguments_of(operation);
    if (!operation.group.empty()) text += " of " + operation.group;
    if (!operation.source.empty()) text += " at " + operation.source;
    return text;
}

std::string_view name_of(Cause cause) {
    constexpr std::array<std::string_view, 9> names{"not_started", "absent",    "has_ended",
                                                    "stopped",     "in_kernel", "sequence",
                                                    "circle",      "exchange",  "unknown"};
    return names.at(static_cast<std::size_t>(cause));
}

std::string HangDiagnosis::line() const {
    return waiting.empty() ? culprit : fmt::format("{}; {}", culprit, waiting.front());
}

HangDiagnosis diagnose_hang(const std::vector<RankState>& states) {
    if (!blocked_ranks(states).empty()) return Diagnosis(states).result();
    // GPUs of all that wait do not come to it: what they compute may wait for another rank, too.
    return Diagnosis(without_waits_for_own_gpu(states)).result();
}

}  // namespace dtrain::trace
