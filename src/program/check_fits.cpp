// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/check_fits.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "program/exchanges.hpp"

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

bool updates_shares(const Operator& op) {
    return op.type == "reduce_shares" || (op.type == "gather_rows" && whole_number(op, "one_copy") != 0);
}

void check_copies(const Program& program, const State& state, int ranks) {
    const bool has_shares = std::ranges::any_of(program.operators(), updates_shares);
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

}  // namespace

void check_fits(const Program& program, const State& state, const Communicator& communicator) {
    check_ranks(program, communicator.size());
    check_copies(program, state, communicator.size());
}

}  // namespace dtrain::program
