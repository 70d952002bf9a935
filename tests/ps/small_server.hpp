// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/transpiler.hpp>

#include "ps/server/server.hpp"

namespace dtrain::ps {

/// One dense parameter of two zeros, updated by SGD with rate 1: it is minus the sum of its gradients.
/// @param adjust may have a schedule, which the gradients are multiplied by then
inline DensePart two_zeros(int sources, const OptimizerOptions& adjust = {}) {
    Program program;
    const auto x = layers::data(program, "x", {2, 1});
    const auto out = layers::fc(program, x, 2, {.name = "fc"});
    minimize(program, layers::reduce_sum(program, out), Sgd{1}, adjust);
    DistributeTranspiler transpiler;
    transpiler.transpile(program, {.pservers = "a:1", .trainers = sources});
    std::vector<VariableBlock> blocks;
    for (const auto& placement : transpiler.placements())
        if (placement.block.variable == "fc.bias") blocks.push_back(placement.block);
    return {transpiler.get_pserver_program("a:1"), blocks, sources, 1, 1};
}

/// A table of one float a row, from zero on, updated likewise.
inline std::vector<ServerTable> one_table(const TableOptions& options) {
    std::vector<ServerTable> tables;
    auto own = options;
    own.name = "t";
    own.width = 1;
    own.optimizer = Sgd{1};
    tables.push_back({SparseTable(own), ""});
    return tables;
}

inline std::vector<ServerTable> one_table(std::optional<std::uint64_t> dict_size = std::nullopt) {
    return one_table(TableOptions{.dict_size = dict_size});
}

/// As serve() does it, when no other message comes meanwhile.
inline void take_and_answer(Server& server, comm::Message&& message) {
    server.take(std::move(message));
    while (server.go_on_answering()) continue;
}

}  // namespace dtrain::ps
