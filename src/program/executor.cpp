// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include <fmt/format.h>

#include <dtrain/executor.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/shared_buffer.hpp>

#include "kernels/kernel.hpp"
#include "kernels/loops.hpp"
#include "program/aligned_memory.hpp"
#include "program/exchanges.hpp"
#include "program/memory_plan.hpp"
#include "program/merge_updates.hpp"
#include "program/tree_sum.hpp"

namespace dtrain {
namespace {

using Clock = std::chrono::steady_clock;
using TensorsByName = std::map<std::string, TensorView, std::less<>>;

std::vector<kernels::SlotTensor> bind(const std::vector<Argument>& arguments, const TensorsByName& tensors) {
    std::vector<kernels::SlotTensor> bound;
    for (const auto& argument : arguments) bound.push_back({argument.slot, tensors.at(argument.variable)});
    return bound;
}

std::int64_t whole_number(const Operator& op, std::string_view attribute) {
    return std::get<std::int64_t>(op.attributes.find(attribute)->second);
}

std::size_t bucket_of(const Operator& op) {
    return static_cast<std::size_t>(whole_number(op, "bucket"));
}

program::MemoryPlanOptions memory_options(const ExecutorOptions& options) {
    return {.reuse = options.memory_optimize,
            .skip_grads = options.skip_grads,
            .keep = {options.keep.begin(), options.keep.end()}};
}

}  // namespace

struct Executor::Content {
    enum class Action { compute, start, wait, exchange, tree, shares };
    /// One batch makes gradients, the update reads them.
    enum class Phase { batch, exchange, update };

    struct Step {
        Action action;
        Phase phase;
        std::size_t number;  // of the kernel or bucket
        OperatorTime time;
    };

    Content(Program compiled, State with_state, Communicator with_communicator,
            const ExecutorOptions& options)
        : program(std::move(compiled)),
          state(std::move(with_state)),
          communicator(std::move(with_communicator)),
          plan(program::plan_memory(program, memory_options(options))),
          memory(program::make_memory(plan.bytes - plan.exchanged)),
          profiles(options.profile) {}

    void check_ranks() const {
        for (const auto& op : program.operators()) {
            if (op.type != "allreduce_start" && op.type != "reduce_shares") continue;
            const auto ranks = whole_number(op, "ranks");
            if (ranks != communicator.size())
                throw ProgramError(
                    fmt::format("the program was made data parallel for {} ranks and the communicator "
                                "has {}",
                                ranks, communicator.size()),
                    op.type, "");
        }
    }

    void place_state() {
        for (const auto& variable : program.variables()) {
            if (!is_persistable(variable.role)) continue;
            const auto* tensor = state.find(variable.name);
            if (tensor == nullptr)
                throw ProgramError(
                    fmt::format("the state has no {} '{}'", to_string(variable.role), variable.name), "",
                    variable.name);
            if (tensor->view.shape != variable.shape || tensor->view.type != variable.type)
                throw ProgramError(
                    fmt::format("{} '{}' is {} {} in the state, expected {} {}", to_string(variable.role),
                                variable.name, to_string(tensor->view.type), to_string(tensor->view.shape),
                                to_string(variable.type), to_string(variable.shape)),
                    "", variable.name);
            tensors.emplace(variable.name, tensor->view);
        }
    }

    void check_copies() const {
        const auto& operators = program.operators();
        const bool has_shares =
            std::ranges::any_of(operators, [](const auto& op) { return op.type == "reduce_shares"; });
        const bool updates =
            std::ranges::any_of(operators, [&](const auto& op) { return program::is_update(program, op); });
        if (has_shares && communicator.size() > 1 && !state.is_shared())
            throw ProgramError(
                "the program's ranks have one copy of the parameters, and the state is this "
                "rank's own; make it with their communicator",
                "reduce_shares", "");
        if (updates && !has_shares && state.is_shared())
            throw ProgramError(
                "the state is shared with other ranks, and the program updates all of it on "
                "each rank; make it with DataParallelOptions::one_copy",
                "", "");
    }

    // Sums are fastest where ranks reach each other's gradients.
    void place_temporaries() {
        if (communicator.size() > 1 && std::ranges::any_of(program.operators(), program::is_communication))
            reachable = communicator.allocate(plan.exchanged);
        else
            gradients = program::make_memory(plan.exchanged);
        for (const auto& [name, range] : plan.places) {
            const auto& variable = program.variable(name);
            tensors.emplace(name, TensorView{place_of(range.begin), variable.shape, variable.type});
        }
        for (const auto& range : plan.buckets)
            buckets.emplace_back(reinterpret_cast<float*>(place_of(range.begin)),
                                 (range.end - range.begin) / sizeof(float));
        requests.resize(buckets.size());
    }

    std::byte* place_of(std::size_t offset) const {
        if (offset >= plan.exchanged) return memory.get() + (offset - plan.exchanged);
        return (gradients ? gradients.get() : reachable.bytes().data()) + offset;
    }

    std::span<float> exchanged() const {
        if (plan.exchanged == 0) return {};
        return {reinterpret_cast<float*>(place_of(0)), plan.exchanged / sizeof(float)};
    }

    // With nothing to compute between start and wait the blocking call is the faster one. A counter is
    // nothing.
    bool is_waited_for_at_once(std::size_t start) const {
        const auto& operators = program.operators();
        for (std::size_t number = start + 1; number < operators.size(); ++number) {
            const auto& op = operators[number];
            if (op.type == "allreduce_wait" && bucket_of(op) == bucket_of(operators[start])) return true;
            if (op.type != "increment") return false;
        }
        return false;
    }

    void add_step(Action action, Phase phase, std::size_t number, const Operator& op) {
        steps.push_back(
            {action, phase, number, {op.type, op.outputs.empty() ? "" : op.outputs.front().variable, 0, {}}});
    }

    void prepare(bool overlap) {
        const auto& operators = program.operators();
        const auto second = program::update_begin(program);
        const auto exchanges = program::exchanges_of(program);
        updates_follow =
            std::ranges::all_of(exchanges, [&](const auto& exchange) { return exchange.read >= second; });
        for (const auto& exchange : exchanges)
            if (program.has(gradient_rows_name(exchange.gradient)) ||
                program.variable(exchange.gradient).type != DataType::float32)
                unaddable = exchange.gradient;
        for (std::size_t number = 0; number < operators.size(); ++number) {
            const auto& op = operators[number];
            if (op.type == "allreduce_start") {
                const bool blocking = !overlap || is_waited_for_at_once(number);
                add_step(blocking ? Action::exchange : Action::start, Phase::exchange, bucket_of(op), op);
            } else if (op.type == "allreduce_wait") {
                add_step(Action::wait, Phase::exchange, bucket_of(op), op);
            } else if (op.type == "tree_sum") {
                tree.emplace(communicator, static_cast<int>(whole_number(op, "virtual_ranks")),
                             exchanged().size());
                add_step(Action::tree, Phase::exchange, 0, op);
            } else if (op.type == "reduce_shares") {
                add_step(Action::shares, Phase::exchange, 0, op);
                prepare_shares(number + 1);
                break;
            } else if (const auto updates = run_of_updates(number); updates > 1) {
                prepare_updates(number, updates);
                number += updates - 1;
            } else {
                add_step(Action::compute, number < second ? Phase::batch : Phase::update, prepared.size(),
                         op);
                prepared.push_back(kernels::make_cpu_kernel(op.type, arguments_of(op)));
            }
        }
    }

    kernels::KernelArguments arguments_of(const Operator& op) const {
        return {bind(op.inputs, tensors), bind(op.outputs, tensors), op.attributes};
    }

    // How many operators from this one on update a parameter in the same way.
    std::size_t run_of_updates(std::size_t begin) const {
        const auto& operators = program.operators();
        const auto updates = [&](const Operator& op) {
            return !op.outputs.empty() && op.outputs.front().slot == "parameter" &&
                   program.variable(op.outputs.front().variable).role == Role::parameter;
        };
        std::size_t end = begin;
        while (end < operators.size() && updates(operators[end]) &&
               operators[end].type == operators[begin].type &&
               operators[end].attributes == operators[begin].attributes)
            ++end;
        return end - begin;
    }

    void prepare_updates(std::size_t begin, std::size_t count) {
        std::vector<kernels::KernelArguments> updates;
        const auto& first = program.operators()[begin];
        for (std::size_t number = begin; number < begin + count; ++number)
            updates.push_back(arguments_of(program.operators()[number]));
        for (const auto& merged : program::merge_updates(std::move(updates))) {
            add_step(Action::compute, Phase::update, prepared.size(), first);
            prepared.push_back(kernels::make_cpu_kernel(first.type, merged));
        }
    }

    // Updates of whatever part of the gradients this rank has added.
    void prepare_shares(std::size_t begin) {
        const auto& operators = program.operators();
        while (begin < operators.size()) {
            const auto count = run_of_updates(begin);
            std::vector<kernels::KernelArguments> updates;
            for (std::size_t number = begin; number < begin + count; ++number)
                updates.push_back(arguments_of(operators[number]));
            for (auto& merged : program::merge_updates(std::move(updates))) {
                const auto& gradient = merged.input("gradient");
                shares.push_back(
                    {static_cast<std::size_t>(static_cast<const float*>(gradient.data) - exchanged().data()),
                     gradient.size(), std::make_unique<kernels::ElementRange>(), nullptr});
                merged.part = shares.back().part.get();
                shares.back().kernel = kernels::make_cpu_kernel(operators[begin].type, merged);
            }
            begin += count;
        }
    }

    void update_part(std::size_t first, std::size_t count) {
        for (const auto& share : shares) {
            const auto begin = std::max(first, share.begin);
            const auto end = std::min(first + count, share.begin + share.count);
            if (begin >= end) continue;
            *share.part = {begin - share.begin, end - begin};
            share.kernel->run();
        }
    }

    template <class Wanted>
    void run_steps(const Wanted& wanted) {
        for (auto& step : steps) {
            if (!wanted(step)) continue;
            if (!profiles) {
                run_step(step);
                continue;
            }
            const auto begin = Clock::now();
            run_step(step);
            step.time.total += Clock::now() - begin;
            ++step.time.calls;
        }
    }

    void run_step(const Step& step) {
        switch (step.action) {
            case Action::compute:
                prepared[step.number]->run();
                poke();
                break;
            case Action::start:
                requests[step.number] = communicator.start_allreduce_sum(buckets[step.number]);
                break;
            case Action::wait:
                requests[step.number].wait();
                break;
            case Action::exchange:
                communicator.allreduce_sum(buckets[step.number]);
                break;
            case Action::shares:
                communicator.reduce_shares(exchanged(), [this](std::size_t first, std::span<float> values) {
                    update_part(first, values.size());
                });
                break;
            case Action::tree:
                tree->finish(exchanged());
                break;
        }
    }

    void run() {
        if (accumulated > 0 || tree) {
            accumulate();
            update();
            return;
        }
        run_steps([](const Step&) { return true; });
    }

    void accumulate() {
        if (!updates_follow)
            throw Error("accumulate(): the program updates parameters before it has made all gradients");
        if (!unaddable.empty())
            throw Error(fmt::format("accumulate(): only dense float32 gradients are added, and '{}' is none",
                                    unaddable));
        run_steps([](const Step& step) { return step.phase == Phase::batch; });
        ++accumulated;
        if (tree) {
            tree->add(exchanged());
        } else if (sums.empty()) {
            sums.assign(exchanged().begin(), exchanged().end());
        } else if (accumulated == 1) {
            std::ranges::copy(exchanged(), sums.begin());
        } else {
            kernels::loops::add(exchanged().data(), sums.data(), sums.size());
        }
    }

    void update() {
        if (accumulated == 0) throw Error("update() without a batch: call accumulate() before, or run()");
        accumulated = 0;
        if (!tree) std::ranges::copy(sums, exchanged().begin());
        run_steps([](const Step& step) { return step.phase != Phase::batch; });
    }

    // MPI moves data only while it is called.
    void poke() {
        for (auto& request : requests)
            if (!request.complete()) request.test();
    }

    Program program;
    State state;
    Communicator communicator;
    program::MemoryPlan plan;
    program::AlignedMemory memory;     // of all but the gradients that ranks add
    program::AlignedMemory gradients;  // or, where other ranks reach them,
    SharedBuffer reachable;
    TensorsByName tensors;
    std::vector<std::string> fused;  // variables that the executor's passes removed
    std::vector<std::span<float>> buckets;
    std::vector<std::unique_ptr<kernels::Kernel>> prepared;
    struct UpdateOfShare {
        std::size_t begin;  // of its gradients, in elements of all that ranks add
        std::size_t count;
        std::unique_ptr<kernels::ElementRange> part;
        std::unique_ptr<kernels::Kernel> kernel;
    };
    std::vector<UpdateOfShare> shares;
    std::vector<Step> steps;
    std::optional<program::TreeSum> tree;
    std::vector<float> sums;  // gradients of the batches since the last update
    int accumulated = 0;      // such batches
    bool updates_follow = true;
    std::string unaddable;  // a gradient of which there is no sum over batches
    bool profiles;
    std::vector<Request> requests;  // by bucket; goes first, for it uses communicator and memory
};

Executor::Executor(const Program& program, State state, Communicator communicator,
                   const ExecutorOptions& options) {
    if (options.threads > 0) kernels::set_compute_threads(options.threads);
    for (const auto& name : options.keep) program.variable(name);
    content_ = std::make_unique<Content>(options.fuse ? fuse_activations(program) : program, std::move(state),
                                         std::move(communicator), options);
    for (const auto& variable : program.variables())
        if (!content_->program.has(variable.name)) content_->fused.push_back(variable.name);
    content_->check_ranks();
    content_->check_copies();
    content_->place_state();
    content_->place_temporaries();
    content_->prepare(options.overlap);
}

Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;

void Executor::run() {
    content_->run();
}

void Executor::accumulate() {
    content_->accumulate();
}

void Executor::update() {
    content_->update();
}

VirtualRanks Executor::virtual_ranks() const {
    if (!content_->tree) return {content_->communicator.rank(), content_->communicator.rank() + 1};
    return {content_->tree->own().begin, content_->tree->own().end};
}

TensorView Executor::fed(std::string_view name, DataType type) const {
    const auto& variable = content_->program.variable(name);
    if (variable.role != Role::data)
        throw ProgramError(fmt::format("feed: '{}' is a {}, expected data", name, to_string(variable.role)),
                           "", variable.name);
    if (variable.type != type)
        throw ProgramError(fmt::format("feed: '{}' is {} {}, it was asked for {} elements", name,
                                       to_string(variable.type), to_string(variable.shape), to_string(type)),
                           "", variable.name);
    return content_->tensors.find(name)->second;
}

std::span<const float> Executor::fetch(std::string_view name) const {
    if (std::ranges::find(content_->fused, name) != content_->fused.end())
        throw ProgramError(
            fmt::format("fetch: '{}' is not kept, because the activation behind it is computed in its "
                        "place; fetch that one, or compile with fuse = false",
                        name),
            "", std::string(name));
    const auto& variable = content_->program.variable(name);
    if (content_->plan.overwritten.contains(variable.name))
        throw ProgramError(fmt::format("fetch: '{}' is not kept, because memory_optimize gave its memory to "
                                       "others; name it in ExecutorOptions::keep",
                                       name),
                           "", variable.name);
    if (variable.type != DataType::float32)
        throw ProgramError(fmt::format("fetch: '{}' is {}, expected float32", name, to_string(variable.type)),
                           "", variable.name);
    return content_->tensors.find(name)->second.as<float>();
}

float Executor::fetch_scalar(std::string_view name) const {
    const auto values = fetch(name);
    if (values.size() != 1)
        throw ProgramError(fmt::format("fetch_scalar: '{}' is {}, expected one element", name,
                                       to_string(content_->program.variable(name).shape)),
                           "", std::string(name));
    return values.front();
}

const State& Executor::state() const {
    return content_->state;
}

const Program& Executor::program() const {
    return content_->program;
}

std::size_t Executor::memory_bytes() const {
    return content_->plan.bytes;
}

std::vector<OperatorTime> Executor::profile() const {
    std::vector<OperatorTime> times;
    for (const auto& step : content_->steps) times.push_back(step.time);
    return times;
}

}  // namespace dtrain
