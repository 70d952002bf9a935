// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/passes/memory_plan.hpp"

#include <algorithm>

#include "program/ir/exchanges.hpp"
#include "program/passes/aligned_memory.hpp"

namespace dtrain::program {
namespace {

/// The range of operators during which a variable is needed.
struct Lifetime {
    std::size_t first = nowhere;
    std::size_t last = 0;

    void include(std::size_t number) {
        first = std::min(first, number);
        last = std::max(last, number);
    }
    bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

using Lifetimes = std::map<std::string, Lifetime, std::less<>>;

/// All variables of a chain are needed as long as it runs.
Lifetimes lifetimes_of(const Program& program, const ElementChains& chains) {
    Lifetimes out;
    for (std::size_t number = 0; number < program.operators().size(); ++number) {
        const auto& op = program.operators()[number];
        const auto* chain = chains.of(number);
        for (const auto* arguments : {&op.inputs, &op.outputs})
            for (const auto& argument : *arguments) {
                out[argument.variable].include(chain != nullptr ? chain->first : number);
                out[argument.variable].include(chain != nullptr ? chain->last() : number);
            }
    }
    return out;
}

/// The gradients of each bucket, in the order of their parameters.
std::vector<std::vector<std::string>> bucket_contents(const Program& program) {
    std::map<std::string, std::size_t, std::less<>> index_of_parameter;
    for (const auto& variable : program.variables())
        index_of_parameter.emplace(variable.name, index_of_parameter.size());
    std::map<std::string, std::size_t, std::less<>> order;
    std::vector<std::vector<std::string>> buckets;
    for (const auto& exchange : exchanges_of(program))
        if (!exchange.is_sparse) order[exchange.gradient] = index_of_parameter[exchange.parameter];
    for (const auto& op : program.operators()) {
        if (op.type != "allreduce_start") continue;
        buckets.emplace_back();
        for (const auto& gradient : op.inputs) buckets.back().push_back(gradient.variable);
    }
    if (buckets.empty() && !order.empty()) {
        buckets.emplace_back();
        for (const auto& [gradient, index] : order) buckets.back().push_back(gradient);
    }
    for (auto& bucket : buckets)
        std::ranges::sort(bucket, {}, [&](const std::string& gradient) { return order[gradient]; });
    return buckets;
}

/// Assigns offsets to variables, the largest first: the lowest offset that does not overlap a variable needed
/// at the same time.
class SharedMemory {
  public:
    SharedMemory(const Lifetimes& lifetimes, std::size_t begin) : lifetimes_(lifetimes), begin_(begin) {}

    ByteRange place(const std::string& name, std::size_t bytes) {
        const auto& life = lifetimes_.at(name);
        std::vector<ByteRange> taken;
        for (const auto& other : placed_)
            if (life.overlaps(*other.life)) taken.push_back(other.range);
        std::ranges::sort(taken, {}, &ByteRange::begin);
        auto begin = begin_;
        for (const auto& range : taken) {
            if (range.begin >= begin + bytes) break;
            begin = std::max(begin, range.end);
        }
        placed_.push_back({name, &life, {begin, begin + bytes}});
        return placed_.back().range;
    }

    std::size_t end() const {
        auto end = begin_;
        for (const auto& each : placed_) end = std::max(end, each.range.end);
        return end;
    }

    /// Variables whose memory was reused after their last use.
    std::set<std::string, std::less<>> overwritten() const {
        std::set<std::string, std::less<>> out;
        for (const auto& each : placed_)
            for (const auto& other : placed_)
                if (other.life->first > each.life->last && other.range.begin < each.range.end &&
                    each.range.begin < other.range.end)
                    out.insert(each.name);
        return out;
    }

  private:
    struct Placed {
        std::string name;
        const Lifetime* life;
        ByteRange range;
    };

    const Lifetimes& lifetimes_;
    std::size_t begin_;
    std::vector<Placed> placed_;
};

bool may_be_shared(const Variable& variable, const MemoryPlanOptions& options) {
    return options.reuse && variable.role != Role::data && !options.keep.contains(variable.name) &&
           !(options.skip_grads && variable.role == Role::gradient);
}

}  // namespace

MemoryPlan plan_memory(const Program& program, const MemoryPlanOptions& options) {
    MemoryPlan plan;
    const auto bytes_of = [&](const Variable& variable) {
        return options.chains.inner.contains(variable.name) ? aligned(chain_block * size_of(variable.type))
                                                            : aligned_bytes_of(variable);
    };
    const auto place_alone = [&](const std::string& name) {
        const auto begin = plan.bytes;
        plan.bytes += bytes_of(program.variable(name));
        plan.ranges.emplace(name, ByteRange{begin, plan.bytes});
    };
    for (const auto& bucket : bucket_contents(program)) {
        const auto begin = plan.bytes;
        for (const auto& gradient : bucket) place_alone(gradient);
        plan.buckets.push_back({begin, plan.bytes});
    }
    plan.exchanged = plan.bytes;

    const auto lifetimes = lifetimes_of(program, options.chains);
    std::vector<const Variable*> shared;
    for (const auto& variable : program.variables()) {
        if (is_persistable(variable.role) || plan.ranges.contains(variable.name)) continue;
        if (may_be_shared(variable, options) && lifetimes.contains(variable.name))
            shared.push_back(&variable);
        else
            place_alone(variable.name);
    }
    std::ranges::stable_sort(shared, std::greater{},
                             [&](const Variable* variable) { return bytes_of(*variable); });
    SharedMemory memory(lifetimes, plan.bytes);
    for (const auto* variable : shared)
        plan.ranges.emplace(variable->name, memory.place(variable->name, bytes_of(*variable)));
    plan.bytes = memory.end();
    plan.overwritten = memory.overwritten();
    return plan;
}

}  // namespace dtrain::program
