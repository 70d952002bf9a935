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

/// The parameters with sparse gradients, and the settings of their updates.
/// @throws ProgramError if such a gradient is used for anything but decay and the update
std::vector<DistributeTranspiler::Table> tables_of(const Program& program, const UpdatePart& part);

/// The learning-rate variables that tables use.
Names rates_of(const std::vector<DistributeTranspiler::Table>& tables);

/// Replaces the operators of tables on a trainer: lookups become `pull_rows`, their gradients `push_rows`;
/// the operators that sum gradients are removed, since servers do that.
class TableOperators {
  public:
    /// @param click as TranspileOptions::click
    /// @throws ProgramError if another operator reads a table, or there is no such variable
    TableOperators(const Program& program, const UpdatePart& part, std::string click);

    bool is_left_out(std::size_t number) const { return left_out_.contains(number); }
    Operator on_trainer(std::size_t number) const;

  private:
    const Program& program_;
    std::string click_;
    std::set<std::size_t> left_out_;
    std::map<std::size_t, std::string> lookups_;  ///< maps operator numbers to tables
    std::map<std::size_t, std::string> pushes_;
    std::set<std::size_t> last_pushes_;
};

}  // namespace dtrain::transpiler
