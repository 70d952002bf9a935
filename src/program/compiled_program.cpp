// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/compiled_program.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>

#include "kernels/loops.hpp"
#include "program/exchanges.hpp"
#include "program/merge_updates.hpp"

namespace dtrain::program {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t whole_number(const Operator& op, std::string_view attribute) {
    return std::get<std::int64_t>(op.attributes.find(attribute)->second);
}

std::size_t bucket_of(const Operator& op) {
    return static_cast<std::size_t>(whole_number(op, "bucket"));
}

MemoryPlanOptions memory_options(const ExecutorOptions& options) {
    return {.reuse = options.memory_optimize,
            .skip_grads = options.skip_grads,
            .keep = {options.keep.begin(), options.keep.end()}};
}

void check_ranks(const Program& program, int ranks) {
    for (const auto& op : program.operators()) {
        if (op.type != "allreduce_start" && op.type != "reduce_shares") continue;
        if (const auto wanted = whole_number(op, "ranks"); wanted != ranks)
            throw ProgramError(
                fmt::format("the program was made data parallel for {} ranks and the communicator has {}",
                            wanted, ranks),
                op.type, "");
    }
}

void check_copies(const Program& program, const State& state, int ranks) {
    const bool has_shares =
        std::ranges::find(program.operators(), "reduce_shares", &Operator::type) != program.operators().end();
    const bool updates =
        std::ranges::any_of(program.operators(), [&](const auto& op) { return is_update(program, op); });
    if (has_shares && ranks > 1 && !state.is_shared())
        throw ProgramError(
            "the program's ranks have one copy of the parameters, and the state is this rank's own; make it "
            "with their communicator",
            "reduce_shares", "");
    if (updates && !has_shares && state.is_shared())
        throw ProgramError(
            "the state is shared with other ranks, and the program updates all of it on each rank; make it "
            "with DataParallelOptions::one_copy",
            "", "");
}

/// Before anything collective.
const Program& checked(const Program& program, const State& state, const Communicator& communicator) {
    check_ranks(program, communicator.size());
    check_copies(program, state, communicator.size());
    return program;
}

}  // namespace

CompiledProgram::CompiledProgram(Program program, State state, Communicator communicator,
                                 const ExecutorOptions& options)
    : program_(std::move(program)),
      state_(std::move(state)),
      communicator_(std::move(communicator)),
      tensors_(checked(program_, state_, communicator_), state_, communicator_, memory_options(options)),
      shares_(tensors_.exchanged().data()),
      profiles_(options.profile) {
    requests_.resize(tensors_.buckets());
    const auto second = update_begin(program_);
    note_what_can_be_added(second);
    prepare(second, options.overlap);
}

void CompiledProgram::note_what_can_be_added(std::size_t second) {
    for (const auto& exchange : exchanges_of(program_)) {
        if (exchange.read < second) updates_follow_ = false;
        if (program_.has(gradient_rows_name(exchange.gradient)) ||
            program_.variable(exchange.gradient).type != DataType::float32)
            unaddable_ = exchange.gradient;
    }
}

void CompiledProgram::prepare(std::size_t second, bool overlap) {
    const auto& operators = program_.operators();
    for (std::size_t number = 0; number < operators.size(); ++number) {
        const auto& op = operators[number];
        if (op.type == "allreduce_start") {
            const bool blocking = !overlap || is_waited_for_at_once(number);
            add_step(blocking ? Action::exchange : Action::start, Phase::exchange, bucket_of(op), op);
        } else if (op.type == "allreduce_wait") {
            add_step(Action::wait, Phase::exchange, bucket_of(op), op);
        } else if (op.type == "tree_sum") {
            tree_.emplace(communicator_, static_cast<int>(whole_number(op, "virtual_ranks")),
                          tensors_.exchanged().size());
            add_step(Action::tree, Phase::exchange, 0, op);
        } else if (op.type == "reduce_shares") {
            add_step(Action::shares, Phase::exchange, 0, op);
            prepare_shares(number + 1);
            break;
        } else if (const auto updates = run_of_updates(number); updates > 1) {
            prepare_updates(number, updates);
            number += updates - 1;
        } else {
            add_step(Action::compute, number < second ? Phase::batch : Phase::update, kernels_.size(), op);
            kernels_.push_back(kernels::make_cpu_kernel(op.type, tensors_.arguments_of(op)));
        }
    }
}

// With nothing to compute between start and wait the blocking call is the faster one. A counter is nothing.
bool CompiledProgram::is_waited_for_at_once(std::size_t start) const {
    const auto& operators = program_.operators();
    for (std::size_t number = start + 1; number < operators.size(); ++number) {
        const auto& op = operators[number];
        if (op.type == "allreduce_wait" && bucket_of(op) == bucket_of(operators[start])) return true;
        if (op.type != "increment") return false;
    }
    return false;
}

void CompiledProgram::add_step(Action action, Phase phase, std::size_t number, const Operator& op) {
    const auto& result = op.outputs.empty() ? std::string() : op.outputs.front().variable;
    steps_.push_back({action, phase, number, {op.type, result, 0, {}}});
}

// How many operators from this one on update a parameter in the same way.
std::size_t CompiledProgram::run_of_updates(std::size_t begin) const {
    const auto& operators = program_.operators();
    const auto is_alike = [&](const Operator& op) {
        return is_update(program_, op) && op.type == operators[begin].type &&
               op.attributes == operators[begin].attributes;
    };
    const auto first = operators.begin() + static_cast<std::ptrdiff_t>(begin);
    return static_cast<std::size_t>(std::find_if_not(first, operators.end(), is_alike) - first);
}

std::vector<kernels::KernelArguments> CompiledProgram::merged_updates(std::size_t begin,
                                                                      std::size_t count) const {
    std::vector<kernels::KernelArguments> updates;
    for (std::size_t number = begin; number < begin + count; ++number)
        updates.push_back(tensors_.arguments_of(program_.operators()[number]));
    return merge_updates(std::move(updates));
}

void CompiledProgram::prepare_updates(std::size_t begin, std::size_t count) {
    const auto& first = program_.operators()[begin];
    for (const auto& update : merged_updates(begin, count)) {
        add_step(Action::compute, Phase::update, kernels_.size(), first);
        kernels_.push_back(kernels::make_cpu_kernel(first.type, update));
    }
}

void CompiledProgram::prepare_shares(std::size_t begin) {
    const auto& operators = program_.operators();
    for (std::size_t count = 0; begin < operators.size(); begin += count) {
        count = run_of_updates(begin);
        for (auto& update : merged_updates(begin, count))
            shares_.add(operators[begin].type, std::move(update));
    }
}

template <class Wanted>
void CompiledProgram::run_steps(const Wanted& wanted) {
    for (auto& step : steps_) {
        if (!wanted(step)) continue;
        if (!profiles_) {
            run_step(step);
            continue;
        }
        const auto begin = Clock::now();
        run_step(step);
        step.time.total += Clock::now() - begin;
        ++step.time.calls;
    }
}

void CompiledProgram::run_step(const Step& step) {
    switch (step.action) {
        case Action::compute:
            kernels_[step.number]->run();
            poke();
            break;
        case Action::start:
            requests_[step.number] = communicator_.start_allreduce_sum(tensors_.bucket(step.number));
            break;
        case Action::wait:
            requests_[step.number].wait();
            break;
        case Action::exchange:
            communicator_.allreduce_sum(tensors_.bucket(step.number));
            break;
        case Action::shares:
            communicator_.reduce_shares(
                tensors_.exchanged(),
                [this](std::size_t first, std::span<float> sums) { shares_.run(first, sums.size()); });
            break;
        case Action::tree:
            tree_->finish(tensors_.exchanged());
            break;
    }
}

// MPI moves data only while it is called.
void CompiledProgram::poke() {
    for (auto& request : requests_)
        if (!request.complete()) request.test();
}

void CompiledProgram::run() {
    if (accumulated_ > 0 || tree_) {
        accumulate();
        update();
        return;
    }
    run_steps([](const Step&) { return true; });
}

void CompiledProgram::accumulate() {
    if (!updates_follow_)
        throw Error("accumulate(): the program updates parameters before it has made all gradients");
    if (!unaddable_.empty())
        throw Error(fmt::format("accumulate(): only dense float32 gradients are added, and '{}' is none",
                                unaddable_));
    run_steps([](const Step& step) { return step.phase == Phase::batch; });
    ++accumulated_;
    const auto gradients = tensors_.exchanged();
    if (tree_) {
        tree_->add(gradients);
    } else if (sums_.empty()) {
        sums_.assign(gradients.begin(), gradients.end());
    } else if (accumulated_ == 1) {
        std::ranges::copy(gradients, sums_.begin());
    } else {
        kernels::loops::add(gradients.data(), sums_.data(), sums_.size());
    }
}

void CompiledProgram::update() {
    if (accumulated_ == 0) throw Error("update() without a batch: call accumulate() before, or run()");
    accumulated_ = 0;
    if (!tree_) std::ranges::copy(sums_, tensors_.exchanged().begin());
    run_steps([](const Step& step) { return step.phase != Phase::batch; });
}

VirtualRanks CompiledProgram::virtual_ranks() const {
    if (!tree_) return {communicator_.rank(), communicator_.rank() + 1};
    return {tree_->own().begin, tree_->own().end};
}

std::vector<OperatorTime> CompiledProgram::profile() const {
    std::vector<OperatorTime> times;
    for (const auto& step : steps_) times.push_back(step.time);
    return times;
}

}  // namespace dtrain::program
