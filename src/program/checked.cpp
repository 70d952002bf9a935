// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "program/schemas.hpp"

namespace dtrain::program {
namespace {

bool fits(const TensorType& expected, const Variable& given) {
    return expected.type == given.type &&
           std::ranges::equal(expected.shape, given.shape, [](std::int64_t want, std::int64_t have) {
               return want == any || want == have;
           });
}

}  // namespace

std::string to_string(const TensorType& type) {
    std::string text = dtrain::to_string(type.type) + " [";
    for (std::size_t i = 0; i < type.shape.size(); ++i) {
        if (i > 0) text += ", ";
        text += type.shape[i] == any ? "any" : std::to_string(type.shape[i]);
    }
    return text += "]";
}

std::vector<TensorType> Checked::types_of(std::string_view slot) const {
    std::vector<TensorType> types;
    for (const auto& argument : op_.inputs) {
        if (argument.slot != slot) continue;
        const auto& variable = program_.variable(argument.variable);
        types.push_back({variable.shape, variable.type});
    }
    return types;
}

void Checked::expect(std::string_view slot, const TensorType& type) const {
    for (const auto& argument : op_.inputs) {
        if (argument.slot != slot) continue;
        const auto& given = program_.variable(argument.variable);
        if (!fits(type, given))
            throw ProgramError(
                fmt::format("operator {}: {} '{}' is {}, expected {}", op_.type, slot, given.name,
                            to_string(TensorType{given.shape, given.type}), to_string(type)),
                op_.type, given.name);
    }
}

void Checked::expect_type(std::string_view slot, DataType type) const {
    for (const auto& argument : op_.inputs) {
        if (argument.slot != slot) continue;
        const auto& given = program_.variable(argument.variable);
        if (given.type != type)
            throw ProgramError(
                fmt::format("operator {}: {} '{}' is {}, expected {}", op_.type, slot, given.name,
                            dtrain::to_string(given.type), dtrain::to_string(type)),
                op_.type, given.name);
    }
}

Types same_as_x(const Checked& op) {
    op.expect("x", {op.shape("x"), DataType::float32});
    return {{op.shape("x"), DataType::float32}};
}

}  // namespace dtrain::program
