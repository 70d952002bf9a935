// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <dtrain/program.hpp>

#include "program/passes/element_chains.hpp"

namespace dtrain::program {

/// Finds consecutive operators for which a GPU has a fused kernel: an activation's gradient with the
/// gradients of the weights and the bias before it; a classifier's loss with its gradient. Pure. @param
/// chains operators to leave out
/// @param barrier an operator before which sequences end
std::vector<ElementChain> find_joined_operators(const Program& program, const ElementChains& chains,
                                                std::size_t barrier);

/// Whether the kernel of the updates from an operator on can also do the increment of the step counter before
/// them: they must be the only readers of the counter after it. @param updates number of consecutive updates
bool can_count(const Program& program, std::size_t increment, std::size_t first_update, std::size_t updates);

}  // namespace dtrain::program
