// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/transpiler.hpp>

#include "identity/endpoint_list.hpp"
#include "program/exchange/server_link.hpp"
#include "program/ir/exchanges.hpp"
#include "transpiler/collective.hpp"
#include "transpiler/endpoints.hpp"
#include "transpiler/server_program.hpp"
#include "transpiler/tables.hpp"
#include "transpiler/update_part.hpp"

namespace dtrain {
namespace {

using transpiler::UpdatePart;

constexpr std::int64_t smallest_block_size = 8192;

void check(const DistributeTranspilerConfig& config, const TranspileOptions& options,
           const std::vector<std::string>& endpoints) {
    if (!options.trainer_endpoints.empty())
        throw UsageError(fmt::format(
            "transpile: trainer_endpoints is '{}' in mode \"pserver\", which wants a number of trainers; set "
            "mode to \"nccl2\" for trainers without servers",
            options.trainer_endpoints));
    if (!config.collective_mode.empty() || config.local_sgd_steps != 1)
        throw UsageError(fmt::format(
            "transpile: collective_mode \"{}\" and local_sgd_steps {} go with mode \"collective\", whose "
            "trainers do without servers; with servers geo_sgd_mode exchanges every so many steps",
            config.collective_mode, config.local_sgd_steps));
    if (config.min_block_size < smallest_block_size)
        throw UsageError(fmt::format("transpile: min_block_size is {}, expected at least {}",
                                     config.min_block_size, smallest_block_size));
    if (config.geo_sgd_mode && options.sync_mode)
        throw UsageError(
            "transpile: geo_sgd_mode goes with sync_mode = false: trainers update by themselves");
    if (config.geo_sgd_need_push_nums < 1)
        throw UsageError(fmt::format("transpile: geo_sgd_need_push_nums is {}, expected at least 1",
                                     config.geo_sgd_need_push_nums));
    if (options.trainers < 1)
        throw UsageError(fmt::format("transpile: {} trainers, expected at least 1", options.trainers));
    if (options.trainer_id < 0 || options.trainer_id >= options.trainers)
        throw UsageError(fmt::format("transpile: trainer_id is {}, expected 0 to {}", options.trainer_id,
                                     options.trainers - 1));
    transpiler::check_endpoints("pservers", options.pservers, endpoints);
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

/// The attributes of `send` and `recv` that describe a parameter's blocks.
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

/// Operators of a program, together with their variables.
class Extract {
  public:
    explicit Extract(const Program& from) : from_(from) {}

    void append(Operator op) {
        for (const auto* arguments : {&op.inputs, &op.outputs})
            for (const auto& argument : *arguments)
                if (!result_.has(argument.variable)) result_.add(from_.variable(argument.variable));
        result_.append(std::move(op));
    }

    Program take() { return std::move(result_); }

  private:
    const Program& from_;
    Program result_;
};

Program trainer_program(const Program& program, const UpdatePart& part,
                        const std::vector<DistributeTranspiler::Placement>& placements,
                        const TranspileOptions& options) {
    const auto& operators = program.operators();
    Extract result(program);
    const auto append = [&](Operator op) { result.append(std::move(op)); };
    const auto attributes_of = [&](const std::string& parameter) {
        return blocks_attributes(placements, parameter, options.sync_mode);
    };
    const transpiler::TableOperators sparse(program, part, options.click);
    transpiler::Names read;
    for (std::size_t number = 0; number < part.begin(); ++number) {
        if (sparse.is_removed(number)) continue;
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
    return result.take();
}

/// The program with its updates; it updates local copies of those rows of the servers' tables that it looks
/// up.
Program geo_trainer_program(const Program& program, const UpdatePart& part,
                            const std::vector<DistributeTranspiler::Table>& tables, std::int64_t every) {
    const auto& operators = program.operators();
    Extract result(program);
    const transpiler::TableOperators sparse(program, part, "");
    for (std::size_t number = 0; number < part.begin(); ++number)
        if (!sparse.is_removed(number)) result.append(sparse.on_trainer(number));
    const auto is_table = [&](const std::string& parameter) {
        return std::ranges::find(tables, parameter, &DistributeTranspiler::Table::parameter) != tables.end();
    };
    for (const auto& step : part.steps())
        if (std::ranges::none_of(step.parameters, is_table)) result.append(operators[step.number]);
    for (const auto& table : tables) {
        Operator update{"update_rows", {}, {}, {{"table", table.parameter}}};
        if (!table.learning_rate.empty()) update.inputs.push_back({"learning_rate", table.learning_rate});
        result.append(std::move(update));
    }
    Operator exchange{"exchange_changes", {}, {}, {{"every", every}}};
    for (const auto& gradient : part.exchanges()) {
        if (gradient.is_sparse) continue;
        exchange.inputs.push_back({"parameter", gradient.parameter});
        exchange.outputs.push_back({"parameter", gradient.parameter});
    }
    result.append(std::move(exchange));
    return result.take();
}

/// Tables that add the changes as they arrive.
std::vector<DistributeTranspiler::Table> adding_changes(std::vector<DistributeTranspiler::Table> tables) {
    for (auto& table : tables) {
        table.optimizer = Sgd{1};
        table.regularisation = NoDecay{};
        table.learning_rate.clear();
    }
    return tables;
}

/// @throws ProgramError if the program is itself a result of transpile()
void refuse_transpiled(const Program& program) {
    const auto made = std::ranges::find_if(program.operators(), [](const Operator& op) {
        return program::needs_servers(op.type) || program::is_communication(op);
    });
    if (made != program.operators().end())
        throw ProgramError(
            fmt::format("transpile: this is a trainer's program already, it has '{}'; give transpile() the "
                        "program that minimize() has made",
                        made->type),
            made->type, "");
}

void check_transpiled(int trainers) {
    if (trainers == 0) throw UsageError("call transpile() before you ask for its programs");
}

}  // namespace

DistributeTranspiler::DistributeTranspiler(DistributeTranspilerConfig config) : config_(std::move(config)) {}

void DistributeTranspiler::transpile(const Program& program, const TranspileOptions& options) {
    refuse_transpiled(program);
    DistributeTranspiler made(config_);
    if (transpiler::is_collective(config_.mode)) {
        transpiler::Collective collective(program, config_, options);
        made.trainers_ = collective.trainers;
        made.trainer_ = std::move(collective.program);
        *this = std::move(made);
        return;
    }
    made.endpoints_ = cluster::parse_endpoint_list(options.pservers);
    check(config_, options, made.endpoints_);
    made.trainers_ = options.trainers;
    made.sync_mode_ = options.sync_mode;
    if (program.has(loss_scale_name))
        throw ProgramError("transpile: the program scales its loss, and parameter servers leave out no steps",
                           "unscale_gradients", "");
    const UpdatePart part(program);
    if (part.exchanges().empty())
        throw ProgramError("transpile: the program updates nothing; call minimize() first", "", "");
    const bool slices = options.slice_var_up.value_or(config_.slice_var_up);
    const auto blocks = blocks_of(program, part, slices ? static_cast<int>(made.endpoints_.size()) : 1,
                                  config_.min_block_size);
    made.placements_ = placed(blocks, options.split_method.value_or(config_.split_method), made.endpoints_);
    made.tables_ = transpiler::tables_of(program, part);
    if (config_.geo_sgd_mode) {
        made.local_tables_ = std::exchange(made.tables_, adding_changes(made.tables_));
        made.trainer_ =
            geo_trainer_program(program, part, made.local_tables_, config_.geo_sgd_need_push_nums);
    } else {
        made.trainer_ = trainer_program(program, part, made.placements_, options);
    }
    for (std::size_t server = 0; server < made.endpoints_.size(); ++server) {
        std::vector<VariableBlock> own;
        for (const auto& placement : made.placements_)
            if (placement.server == server) own.push_back(placement.block);
        made.servers_.push_back(config_.geo_sgd_mode
                                    ? transpiler::adding_program(program, own)
                                    : transpiler::server_program(program, part, own,
                                                                 transpiler::rates_of(made.tables_),
                                                                 options.sync_mode ? options.trainers : 1));
    }
    *this = std::move(made);
}

Program DistributeTranspiler::get_trainer_program() const {
    check_transpiled(trainers_);
    return trainer_;
}

Program DistributeTranspiler::get_pserver_program(const std::string& endpoint) const {
    check_transpiled(trainers_);
    if (endpoints_.empty())
        throw UsageError(fmt::format("there is no server '{}': mode \"{}\" has no parameter servers",
                                     endpoint, config_.mode));
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
