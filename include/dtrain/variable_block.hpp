// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <dtrain/tensor.hpp>

namespace dtrain {

/// Whole rows (entries of the first extent) of a variable: the part that one parameter server holds.
struct VariableBlock {
    std::string variable = {};   ///< its name
    int number = 0;              ///< index among the variable's blocks
    int count = 1;               ///< number of the variable's blocks
    std::int64_t first_row = 0;  ///< index of the block's first row in the variable
    Shape shape = {};            ///< of the block

    /// VARIABLE.blockNUMBER; the variable's own name if it has only one block.
    std::string name() const { return name_of(variable); }
    /// The same block of another variable that is sliced in the same way: of the gradient, or of optimizer
    /// state.
    std::string name_of(const std::string& other) const;
    /// Offset of the block in the variable, in elements.
    std::int64_t first_element() const;

    friend bool operator==(const VariableBlock&, const VariableBlock&) = default;
};

/// Cuts a variable into at most `servers` blocks of at least `min_elements` each (except for the last one,
/// which has the rest), by the rule of Paddle's slice_variable: floor(elements / min_elements) blocks, at
/// least 1; each has as many whole rows as its part of the elements needs.
/// @throws UsageError if servers or min_elements is below 1
std::vector<VariableBlock> slice(const std::string& variable, const Shape& shape, int servers,
                                 std::int64_t min_elements);

/// Returns the server of each block, as one of `endpoints`. Must give every process of a job the same result.
using SplitMethod = std::function<std::vector<std::string>(const std::vector<VariableBlock>& blocks,
                                                           const std::vector<std::string>& endpoints)>;

/// First the blocks of variables with several blocks, one after the other: block counts of the servers differ
/// by at most one. Then the variables with a single block, the largest first (of equal sizes the first in
/// `blocks`), each to the server that has the fewest elements so far (of several the first in `endpoints`).
std::vector<std::string> round_robin(const std::vector<VariableBlock>& blocks,
                                     const std::vector<std::string>& endpoints);

/// One after the other, counted over the blocks of all variables in the order of the variables' names
/// (compared by bytes), regardless of size. Gives the same result as Paddle's RoundRobin, because Paddle's
/// optimizers sort parameters by name.
std::vector<std::string> round_robin_by_name(const std::vector<VariableBlock>& blocks,
                                             const std::vector<std::string>& endpoints);

/// By a hash of the block's name that is the same on every platform and must not change: XXH3 (64 bits) of
/// its bytes, modulo the number of endpoints.
std::vector<std::string> hash_name(const std::vector<VariableBlock>& blocks,
                                   const std::vector<std::string>& endpoints);

}  // namespace dtrain
