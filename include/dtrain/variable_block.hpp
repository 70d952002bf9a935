// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <dtrain/tensor.hpp>

namespace dtrain {

/// Whole rows (entries of the first extent) of a variable: what one parameter server holds of it.
struct VariableBlock {
    std::string variable = {};
    int number = 0;  ///< among the variable's blocks
    int count = 1;   ///< of the variable's blocks
    std::int64_t first_row = 0;
    Shape shape = {};  ///< of the block

    /// VARIABLE.blockNUMBER; the variable's own name when it is in one piece.
    std::string name() const { return name_of(variable); }
    /// The same block of another variable that is cut alike: of the gradient, or of optimizer state.
    std::string name_of(const std::string& other) const;
    /// In the variable, counted in elements.
    std::int64_t first_element() const;

    friend bool operator==(const VariableBlock&, const VariableBlock&) = default;
};

/// Cuts a variable into at most `servers` blocks of at least `min_elements` each (but for the last one,
/// which has the rest), by the rule of Paddle's slice_variable: floor(elements / min_elements) blocks, at
/// least 1; each as many whole rows as its part of the elements needs.
/// @throws UsageError when servers or min_elements is below 1
std::vector<VariableBlock> slice(const std::string& variable, const Shape& shape, int servers,
                                 std::int64_t min_elements);

/// Tells the server of each block, by one of `endpoints`. Must give every process of a job the same answer.
using SplitMethod = std::function<std::vector<std::string>(const std::vector<VariableBlock>& blocks,
                                                           const std::vector<std::string>& endpoints)>;

/// First the blocks of variables that are in several, one after the other: each server has as many as the
/// others, or one more. Then the variables in one piece, the largest first (of those of one size the first in
/// `blocks`), each to the server that has the fewest elements by then (of several the first in `endpoints`).
std::vector<std::string> round_robin(const std::vector<VariableBlock>& blocks,
                                     const std::vector<std::string>& endpoints);

/// One after the other, counted over the blocks of all variables in the order of the variables' names (by
/// their bytes), whatever their sizes. It is where Paddle's RoundRobin puts them, whose optimizers sort
/// parameters by name.
std::vector<std::string> round_robin_by_name(const std::vector<VariableBlock>& blocks,
                                             const std::vector<std::string>& endpoints);

/// By a hash of the block's name that is the same everywhere and always: XXH3 (64 bits) of its bytes, modulo
/// the number of endpoints.
std::vector<std::string> hash_name(const std::vector<VariableBlock>& blocks,
                                   const std::vector<std::string>& endpoints);

}  // namespace dtrain
