// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/dense_part.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>

#include "program/ir/exchanges.hpp"
#include "program/state/state_access.hpp"
#include "transpiler/server_program.hpp"

namespace dtrain::ps {
namespace {

std::vector<std::string> names_of(const std::vector<VariableBlock>& blocks) {
    std::vector<std::string> names;
    for (const auto& block : blocks) names.push_back(block.name());
    return names;
}

/// The increments of counters that only schedules use, not updates.
Program schedule_counters(const Program& program) {
    Program counters;
    const auto goes_by = [&](const std::string& counter) {
        return std::ranges::any_of(program.operators(), [&](const Operator& op) {
            return program::is_update(program, op) &&
                   std::ranges::find(op.inputs, counter, &Argument::variable) != op.inputs.end();
        });
    };
    for (const auto& op : program.operators())
        if (op.type == "increment" && !goes_by(op.input("step"))) {
            counters.add(program.variable(op.input("step")));
            counters.append(op);
        }
    return counters;
}

}  // namespace

DensePart::DensePart(const Program& program, std::vector<VariableBlock> blocks, int sources,
                     std::uint64_t seed, int threads, const Device& device)
    : executor_(program, State(program, seed), {}, {.device = device, .threads = threads}),
      values_(executor_.state(), names_of(blocks)) {
    if (const auto counters = schedule_counters(program); !counters.operators().empty())
        counting_.emplace(counters, executor_.state(), Communicator(),
                          ExecutorOptions{.device = device, .threads = threads});
    for (const auto& tensor : program::StateAccess::on_host(executor_.state()))
        state_bytes_ += tensor.view.bytes();
    for (const auto& block : blocks) {
        if (const auto type = program.variable(block.name()).type; type != DataType::float32)
            throw ProgramError(
                fmt::format("'{}' is {}; servers have float32 parameters", block.variable, to_string(type)),
                "", block.variable);
        Slice slice{size_, values_.views()[slices_.size()].as<float>(), {}};
        for (int source = 0; source < sources; ++source)
            slice.gradients.push_back(
                executor_.feed<float>(transpiler::fed_gradient(block, source, sources)));
        size_ += slice.values.size();
        slices_.push_back(std::move(slice));
    }
}

// Calls action(slice, offset in its block, offset in the range, elements) for every block that the range
// overlaps.
template <class Action>
void DensePart::for_range(std::size_t first, std::size_t count, const Action& action) const {
    if (first > size_ || count > size_ - first)
        throw UsageError(
            fmt::format("elements {} to {} of {} dense parameters", first, first + count, size_));
    auto slice = std::ranges::upper_bound(slices_, first, {}, &Slice::first);
    if (slice != slices_.begin()) --slice;
    for (std::size_t done = 0; done < count; ++slice) {
        const auto inside = first + done - slice->first;
        const auto host = std::min(count - done, slice->values.size() - inside);
        action(*slice, inside, done, host);
        done += host;
    }
}

void DensePart::set_gradient(int source, std::size_t first, std::span<const float> values) {
    for_range(first, values.size(), [&](const Slice& slice, auto inside, auto done, auto count) {
        const auto to = slice.gradients[static_cast<std::size_t>(source)];
        std::copy_n(&values[done], count, &to[inside]);
    });
}

void DensePart::clear_gradient(int source) {
    for (const auto& slice : slices_)
        std::ranges::fill(slice.gradients[static_cast<std::size_t>(source)], 0.0F);
}

void DensePart::update(std::uint32_t steps) {
    if (executor_.program().operators().empty()) return;
    executor_.run();
    if (counting_)
        for (std::uint32_t more = 1; more < steps; ++more) counting_->run();
    are_brought_ = false;
}

void DensePart::bring() {
    if (are_brought_) return;
    values_.bring();
    are_brought_ = true;
}

const State& DensePart::mutable_state() {
    are_brought_ = false;
    return executor_.state();
}

void DensePart::read(std::size_t first, std::span<float> values) {
    bring();
    for_range(first, values.size(), [&](const Slice& slice, auto inside, auto done, auto count) {
        std::copy_n(&slice.values[inside], count, &values[done]);
    });
}

double DensePart::number(const std::string& variable) const {
    return executor_.fetch_scalar<float>(variable);
}

}  // namespace dtrain::ps
