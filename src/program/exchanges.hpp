// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/program.hpp>

namespace dtrain::program {

inline constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

/// A gradient that updates read: where it is made by one batch and first read (numbers of operators).
struct Exchange {
    std::string gradient;
    std::string parameter;  ///< that it updates
    std::int64_t bytes = 0;
    bool is_sparse = false;
    std::size_t made = nowhere;
    std::size_t read = nowhere;
};

/// An operator that updates a parameter from its gradient.
bool is_update(const Program& program, const Operator& op);

/// Makes the loss's own gradient that of a part: sums of the gradients of so many parts are then averages.
/// Leaves other operators as they are.
void divide_loss_gradient(Operator& op, int parts);

/// Sets parameters to their averages over ranks.
inline constexpr const char* average_operator = "average_parameters";

/// Operators that the passes for several ranks put in, and that the executor itself does.
bool is_communication(const Operator& op);

/// Those of them that exchange gradients.
bool exchanges_gradients(const Operator& op);

/// An attribute that is a whole number and is there.
std::int64_t whole_number(const Operator& op, std::string_view attribute);

/// The gradients of a program that ranks have to add, in the order in which they are made.
std::vector<Exchange> exchanges_of(const Program& program);

/// Where a program's second part begins: up to there one batch gives the gradients, from there on they are
/// exchanged and read. The number of operators when nothing is updated.
std::size_t update_begin(const Program& program);

}  // namespace dtrain::program
