// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <dtrain/transpiler.hpp>

#include "transpiler/update_part.hpp"

namespace dtrain::transpiler {

/// The parameters with sparse gradients, with what their updates go by.
/// @throws ProgramError when something else is done to such a gradient than decay and the update
std::vector<DistributeTranspiler::Table> tables_of(const Program& program, const UpdatePart& part);

/// The variables that tables go by.
Names rates_of(const std::vector<DistributeTranspiler::Table>& tables);

/// What becomes of the operators of tables on a trainer: lookups are `pull_rows`, their gradients
/// `push_rows`, and nothing adds these up, since that is what pushing does.
class TableOperators {
  public:
    /// @param click as TranspileOptions::click
    /// @throws ProgramError when another operator reads a table, or there is no such variable
    TableOperators(const Program& program, const UpdatePart& part, std::string click);

    bool is_left_out(std::size_t number) const { return left_out_.contains(number); }
    Operator on_trainer(std::size_t number) const;

  private:
    const Program& program_;
    std::string click_;
    std::set<std::size_t> left_out_;
    std::map<std::size_t, std::string> lookups_;  ///< by number of the operator: its table
    std::map<std::size_t, std::string> pushes_;
    std::set<std::size_t> last_pushes_;
};

}  // namespace dtrain::transpiler
