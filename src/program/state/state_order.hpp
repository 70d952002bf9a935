// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/program.hpp>

namespace dtrain::program {

struct StateOrder {
    std::vector<const Variable*> variables;
    std::size_t updated = 0;  ///< number of leading variables that are parameters or their optimizer state
};

/// The persistable variables in memory order: all parameters, then for each state slot of an update
/// ("moment1") the state of all parameters, so that one update can process all of them; then the rest. Pure;
/// the pointers are into `program`.
StateOrder state_order(const Program& program);

}  // namespace dtrain::program
