// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/program.hpp>
#include <dtrain/variable_block.hpp>

#include "transpiler/update_part.hpp"

namespace dtrain::transpiler {

/// The updates of these blocks, with their gradients as inputs.
/// @param rates learning-rate variables that tables of this server use
/// @param gradients number of gradients per block, which are summed; 1: the gradient is fed directly
/// @throws ProgramError if a step needs more of a parameter than a block
Program server_program(const Program& program, const UpdatePart& part,
                       const std::vector<VariableBlock>& blocks, const Names& rates, int gradients);

/// A program that subtracts the fed gradients from these blocks.
Program adding_program(const Program& program, const std::vector<VariableBlock>& blocks);

/// The name under which gradient `number` of `gradients` of a block is fed.
std::string fed_gradient(const VariableBlock& block, int number, int gradients);

}  // namespace dtrain::transpiler
