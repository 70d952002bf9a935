// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dtrain/optimizer.hpp>
#include <dtrain/transpiler.hpp>

#include "cluster/address.hpp"
#include "cluster/endpoint_list.hpp"
#include "transpiler/server_program.hpp"
#include "transpiler/tables.hpp"
#include "transpiler/update_part.hpp"

namespace dtrain {
namespace {

using transpiler::UpdatePart;

constexpr std::int64_t least_block_size = 8192;

void check(const DistributeTranspilerConfig& config, const TranspileOptions& options,
           const std::vector<std::string>& endpoints) {
    if (config.min_block_size < least_block_size)
        throw UsageError(fmt::format("transpile: min_block_size is {}, expected at least {}",
                                     config.min_block_size, least_block_size));
    if (options.trainers < 1)
        throw UsageError(fmt::format("transpile: {} trainers, expected at least 1", options.trainers));
    if (options.trainer_id < 0 || options.trainer_id >= options.trainers)
        throw UsageError(fmt::format("transpile: trainer_id is {}, expected 0 to {}", options.trainer_id,
                                     options.trainers - 1));
    if (options.pservers.empty())
        throw UsageError("transpile: pservers is empty, expected ip:port,ip:port,...");
    for (const auto& endpoint : endpoints)
        if (!cluster::parse_address_of("pservers", options.pservers, endpoint).port)
            throw UsageError(fmt::format("transpile: pservers names '{}', expected ip:port", endpoint));
    for (auto endpoint = endpoints.begin(); endpoint != endpoints.end(); ++endpoint)
        if (std::find(endpoints.begin(), endpoint, *endpoint) != endpoint)
            throw UsageError(fmt::format("transpile: pservers names {} twice", *endpoint));
}

std::vector<VariableBlock> blocks_of(const Program& program, const UpdatePart& part, int servers,
                                     std::int64_t min_block_size) {
    std::vector<VariableBlock> blocks;
    for (const auto& exchange : part.exchanges()) {
        if (exchange.is_sparse) continue;
        for (auto& block :
             slice(exchange.parameter, program.variable(exchange.parameter).shape, servers, min_block_size))
            blocks.push_back(std::move(block));
    }
    return blocks;
}

std::vector<DistributeTranspiler::Placement> placed(const std::vector<VariableBlock>& blocks,
                                                    const SplitMethod& split,
                                                    const std::vector<std::string>& endpoints) {
    const auto servers = split(blocks, endpoints);
    if (servers.size() != blocks.size())
        throw UsageError(fmt::format("transpile: the split method told servers of {} blocks, there are {}",
                                     servers.size(), blocks.size()));
    std::vector<DistributeTranspiler::Placement> placements;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const auto server = std::ranges::find(endpoints, servers[i]);
        if (server == endpoints.end())
            throw UsageError(fmt::format("transpile: the split method puts {} on '{}', which is none of {}",
                                         blocks[i].name(), servers[i], fmt::join(endpoints, ", ")));
        placements.push_back({blocks[i], static_cast<std::size_t>(server - endpoints.begin())});
    }
    return placements;
}

/// What `send` and `recv` know of a parameter's blocks.
Attributes blocks_attributes(const std::vector<DistributeTranspiler::Placement>& placements,
                             const std::string& parameter, bool sync_mode) {
    std::vector<std::int64_t> servers, rows;
    for (const auto& [block, server] : placements) {
        if (block.variable != parameter) continue;
        servers.push_back(static_cast<std::int64_t>(server));
        rows.push_back(block.shape.front());
    }
    return {{"servers", servers}, {"rows", rows}, {"sync_mode", std::int64_t{sync_mode}}};
}

Program trainer_program(const Program& program, const UpdatePart& part,
                        const std::vector<DistributeTranspiler::Placement>& placements,
                        const TranspileOptions& options) {
    const auto& operators = program.operators();
    Program result;
    const auto append = [&](Operator op) {
        for (const auto* arguments : {&op.inputs, &op.outputs})
            for (const auto& argument : *arguments)
                if (!result.has(argument.variable)) result.add(program.variable(argument.variable));
        result.append(std::move(op));
    };
    const auto attributes_of = [&](const std::string& parameter) {
        return blocks_attributes(placements, parameter, options.sync_mode);
    };
    const transpiler::TableOperators sparse(program, part);
    transpiler::Names read;
    for (std::size_t number = 0; number < part.begin(); ++number) {
        if (sparse.is_left_out(number)) continue;
        auto op = sparse.on_trainer(number);
        for (const auto& input : op.inputs) read.insert(input.variable);
        if (options.sync_mode) program::divide_loss_gradient(op, options.trainers);
        append(std::move(op));
        for (const auto& exchange : part.exchanges())
            if (exchange.made == number && !exchange.is_sparse)
                append({"send", {{"gradient", exchange.gradient}}, {}, attributes_of(exchange.parameter)});
    }
    append({"send_barrier", {}, {}, {}});
    for (const auto& exchange : part.exchanges())
        if (!exchange.is_sparse)
            append({"recv",
                    {{"parameter", exchange.parameter}},
                    {{"parameter", exchange.parameter}},
                    attributes_of(exchange.parameter)});
    append({"fetch_barrier", {}, {}, {}});
    const auto is_read = [&](const Argument& output) { return read.contains(output.variable); };
    for (const auto& step : part.steps())
        if (!step.leads_to_update ||
            (step.parameters.empty() && std::ranges::any_of(operators[step.number].outputs, is_read)))
            append(operators[step.number]);
    return result;
}

void check_transpiled(const std::vector<std::string>& endpoints) {
    if (endpoints.empty()) throw UsageError("call transpile() before you ask for its programs");
}

}  // namespace

DistributeTranspiler::DistributeTranspiler(DistributeTranspilerConfig config) : config_(std::move(config)) {}

void DistributeTranspiler::transpile(const Program& program, const TranspileOptions& options) {
    DistributeTranspiler made(config_);
    made.endpoints_ = cluster::parse_endpoint_list(options.pservers);
    check(config_, options, made.endpoints_);
    made.trainers_ = options.trainers;
    made.sync_mode_ = options.sync_mode;
    const UpdatePart part(program);
    if (part.exchanges().empty())
        throw ProgramError("transpile: the program updates nothing; call minimize() first", "", "");
    const bool slices = options.slice_var_up.value_or(config_.slice_var_up);
    const auto blocks = blocks_of(program, part, slices ? static_cast<int>(made.endpoints_.size()) : 1,
                                  config_.min_block_size);
    made.placements_ = placed(blocks, options.split_method.value_or(config_.split_method), made.endpoints_);
    made.tables_ = transpiler::tables_of(program, part);
    made.trainer_ = trainer_program(program, part, made.placements_, options);
    for (std::size_t server = 0; server < made.endpoints_.size(); ++server) {
        std::vector<VariableBlock> own;
        for (const auto& placement : made.placements_)
            if (placement.server == server) own.push_back(placement.block);
        made.servers_.push_back(transpiler::server_program(program, part, own,
                                                           transpiler::rates_of(made.tables_),
                                                           options.sync_mode ? options.trainers : 1));
    }
    *this = std::move(made);
}

Program DistributeTranspiler::get_trainer_program() const {
    check_transpiled(endpoints_);
    return trainer_;
}

Program DistributeTranspiler::get_pserver_program(const std::string& endpoint) const {
    check_transpiled(endpoints_);
    const auto server = std::ranges::find(endpoints_, endpoint);
    if (server == endpoints_.end())
        throw UsageError(fmt::format("'{}' is no parameter server of this job: {}", endpoint,
                                     fmt::join(endpoints_, ", ")));
    return servers_[static_cast<std::size_t>(server - endpoints_.begin())];
}

Program DistributeTranspiler::get_startup_program(const std::string& endpoint) const {
    const auto program = get_pserver_program(endpoint);
    Program startup;
    for (const auto& variable : program.variables())
        if (is_persistable(variable.role)) startup.add(variable);
    return startup;
}

}  // namespace dtrain
