// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// One variable for all nodes: "0-3;4-7|0-7", and "10000*0-3;4-7" for 10,000 nodes alike.
namespace dtrain::cluster {

/// @param fields one for each node; none holds '|' or begins like "3*"
std::string join_node_fields(const std::vector<std::string>& fields);

/// The field of node `index` in such a text.
/// @throws UsageError naming the variable when there are fewer fields or a count is no number.
std::string node_field(std::string_view name, const std::string& text, int index);

}  // namespace dtrain::cluster
