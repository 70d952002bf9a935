// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/program.hpp>
#include <dtrain/variable_block.hpp>

#include "transpiler/update_part.hpp"

namespace dtrain::transpiler {

/// The updates of these blocks, with their gradients as data.
/// @param rates variables that tables of this server go by: learning rates
/// @param gradients how many there are of each block, which are added; 1: it is fed itself
/// @throws ProgramError when a step needs more of a parameter than a block
Program server_program(const Program& program, const UpdatePart& part,
                       const std::vector<VariableBlock>& blocks, const Names& rates, int gradients);

/// Adds to these blocks what is fed as their gradients, with the sign of a gradient.
Program adding_program(const Program& program, const std::vector<VariableBlock>& blocks);

/// What the gradient of a block is fed as, when there are so many of them.
std::string fed_gradient(const VariableBlock& block, int number, int gradients);

}  // namespace dtrain::transpiler
