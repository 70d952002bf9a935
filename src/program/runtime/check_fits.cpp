// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/runtime/check_fits.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>

#include "program/exchange/server_link.hpp"
#include "program/ir/exchanges.hpp"

namespace dtrain::program {
namespace {

void check_ranks(const Program& program, int ranks) {
    for (const auto& op : program.operators()) {
        const auto given = op.attributes.find("ranks");
        if (!is_communication(op) || given == op.attributes.end()) continue;
        if (const auto wanted = std::get<std::int64_t>(given->second); wanted != 0 && wanted != ranks)
            throw ProgramError(
                fmt::format("the program was made data parallel for {} ranks and the communicator has {}",
                            wanted, ranks),
                op.type, "");
    }
}

bool updates_shards(const Operator& op) {
    return op.type == "reduce_shares" || (op.type == "gather_rows" && whole_number(op, "one_copy") != 0);
}

bool updates_parameters(const Program& program) {
    return std::ranges::any_of(program.operators(), [&](const auto& op) { return is_update(program, op); });
}

void check_copies(const Program& program, const State& state, int ranks) {
    const bool has_shards = std::ranges::any_of(program.operators(), updates_shards);
    if (has_shards && ranks > 1 && !state.is_shared())
        throw ProgramError(
            "the program's ranks have one copy of the parameters, and the state is this rank's own; make it "
            "with their communicator",
            "reduce_shares", "");
    if (updates_parameters(program) && !has_shards && state.is_shared())
        throw ProgramError(
            "the state is shared with other ranks, and the program updates all of it on each rank; make it "
            "with DataParallelOptions::one_copy",
            "", "");
}

/// The gradient that is fed to a program of a parameter server. @return nullptr if it is not such a program
const Variable* gradient_of_trainers(const Program& program) {
    const auto is_fed = [&](const Variable& variable) {
        const auto parameter = variable.name.substr(0, variable.name.find(gradient_name("")));
        return variable.role == Role::data && parameter != variable.name && program.has(parameter) &&
               program.variable(parameter).role == Role::parameter;
    };
    const auto found = std::ranges::find_if(program.variables(), is_fed);
    return found == program.variables().end() ? nullptr : &*found;
}

}  // namespace

void check_fits(const Program& program, const State& state, const Communicator& communicator) {
    check_ranks(program, communicator.size());
    check_copies(program, state, communicator.size());
}

void check_ranks_train_together(const Program& program, const ExecutorOptions& options, int ranks) {
    if (ranks == 1 || options.updates_alone || options.servers || !updates_parameters(program) ||
        std::ranges::any_of(program.operators(), is_communication))
        return;
    throw ProgramError(
        fmt::format(
            "the program updates parameters, and the {} ranks of the executor's communicator exchange "
            "nothing in it: each would train a model of its own. Give the executor what "
            "data_parallel(), with_virtual_ranks() or with_local_sgd() makes of the program; or set "
            "ExecutorOptions::updates_alone, if that is meant",
            ranks),
        "", "");
}

void check_servers(const Program& program, const ExecutorOptions& options) {
    const auto* const fed = options.memory_optimize ? gradient_of_trainers(program) : nullptr;
    if (fed != nullptr)
        throw ProgramError(
            fmt::format(
                "memory_optimize is for trainers (with skip_grads = true), and this program is a parameter "
                "server's: trainers send it '{}'; leave memory_optimize out",
                fed->name),
            "", fed->name);
    for (const auto& op : program.operators()) {
        if (!needs_servers(op.type)) continue;
        if (!options.servers)
            throw ProgramError(fmt::format("operator {} talks to parameter servers, and this executor has "
                                           "none: set ExecutorOptions::servers",
                                           op.type),
                               op.type, "");
        if (op.type == "send" && options.memory_optimize && !options.skip_grads)
            throw ProgramError(
                "memory_optimize on a trainer goes with skip_grads = true, so that the gradients that it "
                "sends keep their memory",
                op.type, op.input("gradient"));
    }
}

}  // namespace dtrain::program
