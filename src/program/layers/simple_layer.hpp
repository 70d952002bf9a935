// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <dtrain/program.hpp>

namespace dtrain::layers {

/// Appends an operator with one output, named after the operator.
inline std::string simple(Program& program, const std::string& type, std::vector<Argument> inputs,
                          Attributes attributes = {}) {
    auto name = program.unique_name(type);
    program.append_with_outputs({type, std::move(inputs), {{"out", name}}, std::move(attributes)});
    return name;
}

/// Calls action(copy of the program) and replaces the program by the copy if nothing is thrown: a layer that
/// does not fit leaves no parameters behind.
template <class Action>
auto extend(Program& program, const Action& action) {
    Program extended = program;
    auto result = action(extended);
    program = std::move(extended);
    return result;
}

}  // namespace dtrain::layers
