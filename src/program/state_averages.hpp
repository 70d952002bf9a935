// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/executor.hpp>

namespace dtrain::program {

using VariableNames = std::set<std::string, std::less<>>;

/// Numbers that lie side by side.
using Segments = std::vector<std::span<float>>;

/// Where the variables of those names, all of float32, lie in the memory of a State, with the zeros that
/// alignment leaves between them.
Segments segments_of(const std::vector<StateTensor>& state, const VariableNames& names);

/// Sets numbers in this process' memory to their averages over the ranks. Collective.
void average(const Segments& segments, const Communicator& communicator);

}  // namespace dtrain::program
