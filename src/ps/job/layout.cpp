// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/layout.hpp"

#include <algorithm>
#include <xxhash.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/version.hpp>

#include "ps/store/options_json.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {
namespace {

RowInitializer row_initializer(const Initializer& initializer) {
    if (initializer.kind == Initializer::Kind::constant) return ConstantRow{initializer.value};
    return UniformRow{initializer.value};
}

}  // namespace

std::vector<VariableBlock> blocks_on(const DistributeTranspiler& transpiler, std::size_t server) {
    std::vector<VariableBlock> blocks;
    for (const auto& placement : transpiler.placements())
        if (placement.server == server) blocks.push_back(placement.block);
    return blocks;
}

TableOptions table_options(const DistributeTranspiler::Table& table, const ServerJobOptions& job) {
    const auto own_rules = job.rows_of.find(table.parameter);
    const auto& rules = own_rules == job.rows_of.end() ? job.rows : own_rules->second;
    TableOptions options{.name = table.parameter,
                         .width = static_cast<std::size_t>(table.width),
                         .seed = job.seed,
                         .initializer = row_initializer(table.initializer),
                         .optimizer = table.optimizer,
                         .regularisation = table.regularisation,
                         .admission = rules.admission,
                         .statistics = rules.statistics,
                         .reject_not_finite = job.reject_not_finite};
    if (table.any_id) options.dict_size = static_cast<std::uint64_t>(table.rows);
    return options;
}

std::string layout_text(const DistributeTranspiler& transpiler, const ServerJobOptions& options,
                        std::size_t server) {
    auto text = fmt::format(
        "dtrain {}\nmode {}\nstaleness {}\ntrainers {}\nseed {}\nserver {} of {}\n"
        "wire {}\nreject_not_finite {}\n",
        version, to_string(options.mode), options.staleness, transpiler.trainers(), options.seed, server,
        transpiler.endpoints().size(), to_string(options.wire), options.reject_not_finite);
    for (const auto& block : blocks_on(transpiler, server))
        text += fmt::format("{} {}\n", block.name(), dtrain::to_string(block.shape));
    for (const auto& table : transpiler.tables())
        text += fmt::format("table {}\n", as_json(table_options(table, options)).dump());
    const auto program = transpiler.get_pserver_program(transpiler.endpoints()[server]).to_string();
    text += fmt::format("updates {:016x}\n", XXH3_64bits(program.data(), program.size()));
    return text;
}

void check(const ServerJobOptions& options, const DistributeTranspiler& transpiler) {
    if ((options.mode == ServerMode::sync) != transpiler.sync_mode())
        throw UsageError(fmt::format("mode {} goes with sync_mode = {} of transpile()",
                                     to_string(options.mode), options.mode == ServerMode::sync));
    if ((options.mode == ServerMode::geo) != transpiler.geo_sgd_mode())
        throw UsageError(fmt::format("mode {} goes with geo_sgd_mode = {} of DistributeTranspilerConfig",
                                     to_string(options.mode), options.mode == ServerMode::geo));
    if (options.staleness < 0)
        throw UsageError(fmt::format("staleness is {}, expected 0 or more", options.staleness));
    if (options.staleness != 0 && options.mode != ServerMode::half_async)
        throw UsageError(fmt::format("staleness is {} in mode {}; it is a setting of half_async",
                                     options.staleness, to_string(options.mode)));
    if (options.memory && *options.memory < 1)
        throw UsageError(
            fmt::format("a server's tables get {} bytes of memory, expected 1 or more", *options.memory));
    if (options.table_threads < 0)
        throw UsageError(fmt::format("table_threads is {}, expected 0 or more", options.table_threads));
    if (options.message_rows < 0)
        throw UsageError(fmt::format("message_rows is {}, expected 0 or more", options.message_rows));
    if (options.most_merged < 1)
        throw UsageError(fmt::format("most_merged is {}, expected 1 or more", options.most_merged));
    if (options.most_merged > static_cast<int>(max_steps_of_push))
        throw UsageError(
            fmt::format("most_merged is {}, expected at most {}", options.most_merged, max_steps_of_push));
    if (options.metrics && options.metrics->every <= std::chrono::milliseconds::zero())
        throw UsageError(fmt::format("metrics are written every {} ms, expected 1 or more",
                                     options.metrics->every.count()));
    const bool has_rules = options.rows != RowRules{} || !options.rows_of.empty();
    if (options.mode == ServerMode::geo && (has_rules || options.reject_not_finite))
        throw UsageError(
            fmt::format("mode geo has no {}: its trainers update rows and parameters of their own, and push "
                        "what has changed",
                        has_rules ? "rules of rows" : "reject_not_finite"));
    const auto& tables = transpiler.tables();
    for (const auto& [name, rules] : options.rows_of)
        if (std::ranges::find(tables, name, &DistributeTranspiler::Table::parameter) == tables.end())
            throw UsageError(fmt::format("rows_of names '{}', which is no table of this program", name));
    std::vector<TableOptions> of_tables;
    for (const auto& table : tables) of_tables.push_back(table_options(table, options));
    const auto counts_shows = [](const TableOptions& table) { return table.statistics.has_value(); };
    if (options.wire != WireType::float32 && std::ranges::any_of(of_tables, counts_shows))
        throw UsageError(
            fmt::format("tables with statistics and wire {} exclude each other: shows and clicks "
                        "would be rounded",
                        to_string(options.wire)));
    for (const auto& table : of_tables) check(table);
}

}  // namespace dtrain::ps
