// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/program.hpp>

namespace dtrain::program {

struct StateOrder {
    std::vector<const Variable*> variables;
    std::size_t updated =
        0;  ///< so many, from the first on, are parameters or what updates keep for each of them
};

/// The persistable variables in the order in which they lie in memory: all parameters, then for each place
/// that an update has for state ("moment1") the state of all parameters, so that one update can go over all
/// of them; then the rest. Pure; the pointers are into `program`.
StateOrder state_order(const Program& program);

}  // namespace dtrain::program
