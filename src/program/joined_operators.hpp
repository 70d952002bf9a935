// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <dtrain/program.hpp>

#include "program/element_chains.hpp"

namespace dtrain::program {

/// Operators that follow each other of which a GPU makes fewer kernels than there are operators: an
/// activation's gradient with the gradients of the weights and the bias before it; a classifier's loss with
/// its gradient. Pure.
/// @param chains what they must leave alone
/// @param barrier an operator before which they end
std::vector<ElementChain> find_joined_operators(const Program& program, const ElementChains& chains,
                                                std::size_t barrier);

/// Whether what makes the updates from an operator on can count the steps for an increment before them: they
/// alone read the counter after it.
/// @param updates so many follow each other
bool can_count(const Program& program, std::size_t increment, std::size_t first_update, std::size_t updates);

}  // namespace dtrain::program
