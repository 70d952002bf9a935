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

/// Contiguous ranges of numbers.
using Segments = std::vector<std::span<float>>;

/// The memory of the named variables, all float32, in a State, including the zero padding between them.
Segments segments_of(const std::vector<StateTensor>& state, const VariableNames& names);

/// Sets numbers in host memory to their averages over the ranks. Collective.
void average(const Segments& segments, const Communicator& communicator);

}  // namespace dtrain::program
