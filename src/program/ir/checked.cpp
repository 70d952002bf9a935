// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "program/schemas/schemas.hpp"

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

std::int64_t Checked::whole(std::string_view attribute) const {
    return std::get<std::int64_t>(op_.attributes.find(attribute)->second);
}

double Checked::number(std::string_view attribute) const {
    return std::get<double>(op_.attributes.find(attribute)->second);
}

const std::vector<std::int64_t>& Checked::wholes(std::string_view attribute) const {
    return std::get<std::vector<std::int64_t>>(op_.attributes.find(attribute)->second);
}

const std::vector<double>& Checked::numbers(std::string_view attribute) const {
    return std::get<std::vector<double>>(op_.attributes.find(attribute)->second);
}

DataType Checked::real(std::string_view slot) const {
    const auto type = input(slot).type;
    if (!is_real(type)) refuse(slot, "real numbers (float32 or float64)");
    return type;
}

void Checked::expect_integers(std::string_view slot, const Shape& shape) const {
    const auto type = input(slot).type;
    expect(slot, {shape, is_integer(type) ? type : DataType::int64});
}

void Checked::expect_labels(std::string_view slot, std::int64_t rows) const {
    const Shape column{rows, 1};
    expect_integers(slot, shape(slot) == column ? column : Shape{rows});
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

void Checked::refuse(std::string_view slot, std::string_view expected) const {
    const auto& given = input(slot);
    throw ProgramError(fmt::format("operator {}: {} '{}' is {}, expected {}", op_.type, slot, given.name,
                                   to_string(TensorType{given.shape, given.type}), expected),
                       op_.type, given.name);
}

void Checked::refuse_attribute(std::string_view attribute, std::string_view expected) const {
    throw ProgramError(fmt::format("operator {}: attribute {} is {}, expected {}", op_.type, attribute,
                                   dtrain::to_string(op_.attributes.find(attribute)->second), expected),
                       op_.type, "");
}

Types same_as_x(const Checked& op) {
    const TensorType type{op.shape("x"), op.real("x")};
    op.expect("x", type);
    return {type};
}

}  // namespace dtrain::program
