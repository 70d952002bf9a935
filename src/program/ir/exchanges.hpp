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

/// A gradient that updates read, with the operators that compute it for one batch and first read it (as
/// indices).
struct Exchange {
    std::string gradient;
    std::string parameter;  ///< the parameter that it updates
    DataType type = DataType::float32;
    std::size_t count = 0;  ///< elements
    bool is_sparse = false;
    std::size_t made = nowhere;
    std::size_t read = nowhere;
};

/// True for an operator that updates a parameter from its gradient.
bool is_update(const Program& program, const Operator& op);

/// Divides the gradient of the loss itself by `parts`: sums of the gradients of that many parts are then
/// averages. Leaves other operators unchanged.
void divide_loss_gradient(Operator& op, int parts);

/// Sets parameters to their averages over ranks.
inline constexpr const char* average_operator = "average_parameters";

/// True for operators that the passes for several ranks insert, and that the executor runs itself.
bool is_communication(const Operator& op);

/// True for those of them that exchange gradients.
bool exchanges_gradients(const Operator& op);

/// The value of an existing integer attribute.
std::int64_t whole_number(const Operator& op, std::string_view attribute);

/// The gradients of a program that ranks have to reduce, in the order in which they are computed.
std::vector<Exchange> exchanges_of(const Program& program);

/// Where a program's second part begins: before it the gradients of one batch are computed, from there on
/// they are exchanged and read. The number of operators if nothing is updated.
std::size_t update_begin(const Program& program);

}  // namespace dtrain::program
