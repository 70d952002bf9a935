// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace dtrain::cluster {

/// Expands Slurm's counts by node: "2(x3),1" -> 2 2 2 1.
/// @param name of the variable, for the message
/// @throws UsageError quoting an invalid list
std::vector<int> expand_counts(std::string_view name, std::string_view text);

}  // namespace dtrain::cluster
