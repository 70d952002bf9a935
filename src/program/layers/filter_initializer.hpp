// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/program.hpp>

namespace dtrain::program {

/// Xavier uniform, for a filter [channels out, channels in, height, width]. @throws ProgramError if a
/// parameter of this name cannot have that many elements
inline Initializer filter_initializer(const std::string& name, const Shape& filter) {
    Program().add({.name = name, .shape = filter});  // checks the sizes before they are multiplied
    const auto area = filter[2] * filter[3];
    return Initializer::xavier_uniform(filter[1] * area, filter[0] * area);
}

}  // namespace dtrain::program
