// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/exchange/step_batches.hpp"

#include "program/exchange/virtual_tree.hpp"
#include "program/ir/exchanges.hpp"

namespace dtrain::program {

StepBatches step_batches(const Program& program, const Communicator& communicator) {
    const auto rank = communicator.rank();
    for (const auto& op : program.operators()) {
        if (op.type == "tree_sum" ||
            (is_communication(op) && op.attributes.contains("batches") && whole_number(op, "ranks") == 0)) {
            const auto all = whole_number(op, op.type == "tree_sum" ? "virtual_ranks" : "batches");
            const auto own = virtual_ranks_of(rank, communicator.size(), static_cast<int>(all));
            return {{own.begin, own.end}, true};
        }
        if (!is_communication(op) || !op.attributes.contains("micro_batches")) continue;
        const auto each = static_cast<int>(whole_number(op, "micro_batches"));
        return {{rank * each, (rank + 1) * each}};
    }
    return {{rank, rank + 1}};
}

}  // namespace dtrain::program
