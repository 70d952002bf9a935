// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/runtime/compiled_program.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>

#include "program/exchange/step_batches.hpp"
#include "program/ir/exchanges.hpp"
#include "program/passes/joined_operators.hpp"
#include "program/runtime/check_fits.hpp"
#include "program/runtime/merge_updates.hpp"

namespace dtrain::program {
namespace {

using kernels::kernel_of;

std::size_t bucket_of(const Operator& op) {
    return static_cast<std::size_t>(whole_number(op, "bucket"));
}

std::set<std::string, std::less<>> kept(const ExecutorOptions& options) {
    return {options.keep.begin(), options.keep.end()};
}

ElementChains chains_of(const Program& program, const ExecutorOptions& options, bool joins) {
    if (!options.fuse || !options.fuse_chains) return {};
    const auto barrier = update_begin(program);
    auto chains = find_element_chains(program, barrier, kept(options));
    if (!joins) return chains;
    const auto joined = find_joined_operators(program, chains, barrier);
    chains.chains.insert(chains.chains.end(), joined.begin(), joined.end());
    std::ranges::sort(chains.chains, {}, &ElementChain::first);
    return chains;
}

MemoryPlanOptions memory_options(const ExecutorOptions& options, const ElementChains& chains) {
    return {.reuse = options.memory_optimize,
            .skip_grads = options.skip_grads,
            .keep = kept(options),
            .chains = chains};
}

/// Checks everything before any collective call.
std::unique_ptr<ComputeDevice> device_for(const Program& program, const State& state,
                                          const Communicator& communicator, const ExecutorOptions& options) {
    check_fits(program, state, communicator);
    check_ranks_train_together(program, options, communicator.size());
    check_servers(program, options);
    return make_compute_device(program, options, state, communicator);
}

bool has_persistable_output(const Program& program) {
    return std::ranges::any_of(program.operators(), [&](const Operator& op) {
        return std::ranges::any_of(op.outputs, [&](const Argument& output) {
            return is_persistable(program.variable(output.variable).role);
        });
    });
}

}  // namespace

CompiledProgram::CompiledProgram(Program program, State state, Communicator communicator,
                                 const ExecutorOptions& options)
    : program_(std::move(program)),
      state_(std::move(state)),
      communicator_(std::move(communicator)),
      device_(device_for(program_, state_, communicator_, options)),
      chains_(chains_of(program_, options, device_->joins())),
      tensors_(program_, *device_, memory_options(options, chains_)),
      shards_(tensors_.exchanged().data()),
      writes_state_(has_persistable_output(program_)),
      profiles_(options.profile),
      products_(options.products),
      servers_(options.servers),
      buckets_(device_->make_bucket_sums(tensors_.buckets())) {
    const auto batches = step_batches(program_, communicator_);
    batches_ = batches.own;
    are_virtual_ = batches.are_virtual;
    const auto second = update_begin(program_);
    note_what_can_be_added(second);
    prepare(second, options.overlap);
}

void CompiledProgram::note_what_can_be_added(std::size_t second) {
    const bool has_row_sum =
        std::ranges::find(program_.operators(), "gather_rows", &Operator::type) != program_.operators().end();
    for (const auto& exchange : exchanges_of(program_)) {
        if (exchange.read < second) updates_follow_ = false;
        const auto type = program_.variable(exchange.gradient).type;
        if (exchange.is_sparse && !has_row_sum)
            unaddable_ = fmt::format(
                "the sparse gradient '{}' is added to those of other batches by programs that "
                "data_parallel() made with micro_batches, or with_virtual_ranks()",
                exchange.gradient);
        else if (type != DataType::float32)
            unaddable_ = fmt::format("only float32 gradients are added, and '{}' is {}", exchange.gradient,
                                     to_string(type));
    }
}

void CompiledProgram::prepare(std::size_t second, bool overlap) {
    if (servers_) servers_->begin_program();
    const auto& operators = program_.operators();
    for (std::size_t number = 0; number < operators.size(); ++number) {
        const auto& op = operators[number];
        if (op.type == "reduce_shares") return prepare_shards(op, number + 1);
        if (prepare_exchange(op, number, overlap)) continue;
        if (const auto* chain = chains_.of(number)) {
            prepare_chain(*chain, number < second ? Phase::batch : Phase::update);
            number = chain->last();
        } else if (const auto updates = run_of_updates(number); updates > 1 || counted_by_.contains(number)) {
            prepare_updates(number, updates);
            number += updates - 1;
        } else if (needs_servers(op.type)) {
            prepare_talk(op, number < second ? Phase::batch : Phase::update);
        } else if (!is_counted_by_updates(number, second)) {
            add_kernel(make_kernel(op), number < second ? Phase::batch : Phase::update, op);
        }
    }
    // Needed without reduce_shards(), which waits for the ranks of the node.
    if (rows_are_shared_)
        add_step(kernel_of([this] { communicator_.barrier(); }), Phase::update, {.exchanges = true},
                 {"barrier", {}, {}, {}});
}

bool CompiledProgram::prepare_exchange(const Operator& op, std::size_t number, bool overlap) {
    if (op.type == "allreduce_start")
        prepare_bucket(op, true, !overlap || is_waited_for_at_once(number));
    else if (op.type == "allreduce_wait")
        prepare_bucket(op, false, true);
    else if (op.type == "tree_sum")
        prepare_tree(op);
    else if (op.type == "gather_rows")
        prepare_row_exchange(op);
    else if (op.type == average_operator)
        prepare_averages(op);
    else if (op.type == "batch_number")
        prepare_batch_number(op);
    else
        return false;
    return true;
}

void CompiledProgram::prepare_bucket(const Operator& op, bool starts, bool waits) {
    const auto bucket = bucket_of(op);
    auto run = [this, bucket, starts, waits] {
        if (starts && waits)
            buckets_.add(bucket);
        else if (starts)
            buckets_.start(bucket);
        else
            buckets_.wait(bucket);
    };
    add_step(kernel_of(std::move(run)), Phase::exchange,
             {.exchanges = true,
              .sends_computed = starts,
              .reduction = BucketStep{.bucket = bucket, .starts = starts, .waits = waits}},
             op);
}

void CompiledProgram::prepare_tree(const Operator& op) {
    tree_.emplace(
        communicator_, static_cast<int>(whole_number(op, "virtual_ranks")), tensors_.exchanged().size(),
        [this](std::size_t slots) { return device_->make_gradient_sums(tensors_.exchanged(), slots); });
    add_step(kernel_of([this] { tree_->finish(); }), Phase::exchange,
             {.exchanges = true, .sends_computed = communicator_.size() > 1}, op);
}

void CompiledProgram::prepare_batch_number(const Operator& op) {
    add_step(kernel_of([this, set = device_->make_set_number(tensors_.of(op.output("out")), batches_)] {
                 set(batches_.begin + accumulated_);
             }),
             Phase::batch, {}, op);
}

void CompiledProgram::prepare_averages(const Operator& op) {
    VariableNames parameters, kept_by_optimizer;
    for (const auto& output : op.outputs) parameters.insert(output.variable);
    for (const auto& variable : program_.variables())
        if (variable.role == Role::optimizer_state && variable.type == DataType::float32)
            kept_by_optimizer.insert(variable.name);
    averages_.emplace(Averages{whole_number(op, "every"), device_->make_average(parameters),
                               device_->make_average(kept_by_optimizer), steps_.size()});
    add_step(kernel_of([this] {
                 averages_->parameters();
                 averages_->steps_alone = 0;
             }),
             Phase::update, {.exchanges = true, .sends_computed = true}, op);
}

std::unique_ptr<kernels::Kernel> CompiledProgram::make_kernel(const Operator& op) const {
    auto arguments = arguments_of(op);
    arguments.products = products_;
    return device_->make_kernel(op.type, arguments);
}

void CompiledProgram::prepare_talk(const Operator& op, Phase phase) {
    auto [copy, talk, waits] = device_->make_server_kernels(op, arguments_of(op), *servers_);
    if (copy) add_step(std::move(copy), phase, {.device_only = true, .exchanges = true}, op);
    if (talk) add_step(std::move(talk), phase, {.exchanges = true, .waits_for_device = waits}, op);
}

void CompiledProgram::prepare_chain(const ElementChain& chain, Phase phase) {
    std::vector<ChainLink> links;
    std::set<const void*> inner;
    Operator all;
    for (auto number = chain.first; number <= chain.last(); ++number) {
        const auto& op = program_.operators()[number];
        links.push_back({op.type, tensors_.arguments_of(op)});
        links.back().arguments.products = products_;
        for (const auto& [slot, variable] : op.outputs)
            if (is_inner(variable)) inner.insert(tensors_.of(variable).data);
        all.type += (all.type.empty() ? "" : "+") + op.type;
        all.outputs = op.outputs;
    }
    add_kernel(device_->make_chain_kernel(links, inner), phase, all);
}

void CompiledProgram::prepare_row_exchange(const Operator& op) {
    std::vector<ExchangedRows> gradients;
    for (std::size_t i = 0; i < op.inputs.size(); i += 2) {
        const auto rows_and_gradient = [&](const std::vector<Argument>& arguments) {
            return std::pair(tensors_.of(arguments[i].variable).as<std::int64_t>(),
                             tensors_.of(arguments[i + 1].variable).as<float>());
        };
        const auto [made_rows, made] = rows_and_gradient(op.inputs);
        const auto [rows, values] = rows_and_gradient(op.outputs);
        gradients.push_back({op.outputs[i + 1].variable, made_rows, made, rows, values});
    }
    rows_.emplace(device_->make_row_exchange(communicator_, {batches_.begin, batches_.end},
                                             static_cast<int>(whole_number(op, "batches")),
                                             std::move(gradients)));
    rows_are_shared_ = whole_number(op, "one_copy") != 0;
    add_step(kernel_of([this] {
                 if (accumulated_ == 0) rows_->start();  // the last step may have failed
                 rows_->collect();
             }),
             Phase::batch, {}, op);
    add_step(kernel_of([this] { rows_->finish(); }), Phase::exchange, {.exchanges = true}, op);
}

kernels::KernelArguments CompiledProgram::arguments_of(const Operator& op) const {
    auto arguments = tensors_.arguments_of(op);
    if (rows_are_shared_ && is_update(program_, op) && arguments.has_input("rows"))
        arguments.part = rows_->shard_of(op.input("gradient"));
    return arguments;
}

// If there is nothing to compute between start and wait, the blocking call is faster. An increment of a
// counter does not count as computing.
bool CompiledProgram::is_waited_for_at_once(std::size_t start) const {
    const auto& operators = program_.operators();
    for (std::size_t number = start + 1; number < operators.size(); ++number) {
        const auto& op = operators[number];
        if (op.type == "allreduce_wait" && bucket_of(op) == bucket_of(operators[start])) return true;
        if (op.type != "increment") return false;
    }
    return false;
}

void CompiledProgram::add_step(std::unique_ptr<kernels::Kernel> kernel, Phase phase, const StepTraits& traits,
                               const Operator& op) {
    const auto& result = op.outputs.empty() ? std::string() : op.outputs.front().variable;
    steps_.push_back({std::move(kernel), phase, traits, {op.type, result, 0, {}}});
}

void CompiledProgram::add_kernel(std::unique_ptr<kernels::Kernel> kernel, Phase phase, const Operator& op) {
    add_step(std::move(kernel), phase, {.device_only = true}, op);
}

// Number of operators from this one on that update parameters in the same way.
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
        updates.push_back(arguments_of(program_.operators()[number]));
    return merge_updates(std::move(updates));
}

// Whether one kernel does all updates that read a counter, so that it can also increment the counter.
bool CompiledProgram::is_counted_by_updates(std::size_t number, std::size_t second) {
    const auto& operators = program_.operators();
    if (!device_->joins() || operators[number].type != "increment" || number < second) return false;
    auto first = number + 1;
    while (first < operators.size() && !is_update(program_, operators[first])) ++first;
    if (first == operators.size()) return false;
    const auto count = run_of_updates(first);
    if (!can_count(program_, number, first, count) || merged_updates(first, count).size() != 1) return false;
    counted_by_.emplace(first, number);
    return true;
}

void CompiledProgram::prepare_updates(std::size_t begin, std::size_t count) {
    const auto& first = program_.operators()[begin];
    const auto counter = counted_by_.find(begin);
    for (auto& update : merged_updates(begin, count)) {
        if (counter != counted_by_.end())
            update.outputs.push_back(
                {"step", tensors_.of(program_.operators()[counter->second].output("step"))});
        add_kernel(device_->make_kernel(first.type, update), Phase::update, first);
    }
}

void CompiledProgram::prepare_shards(const Operator& op, std::size_t begin) {
    add_step(kernel_of([this] {
                 communicator_.reduce_shards(
                     tensors_.exchanged(),
                     [this](std::size_t first, std::span<float> sums) { shards_.run(first, sums.size()); });
             }),
             Phase::exchange, {.exchanges = true}, op);
    const auto& operators = program_.operators();
    for (std::size_t count = 0; begin < operators.size(); begin += count) {
        count = run_of_updates(begin);
        for (auto& update : merged_updates(begin, count))
            shards_.add(operators[begin].type, std::move(update));
    }
}

}  // namespace dtrain::program
