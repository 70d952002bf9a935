// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// One variable for all nodes: "0-3;4-7|0-7", or "10000*0-3;4-7" for 10,000 identical nodes.
namespace dtrain::cluster {

/// @param fields one per node; none contains '|' or begins like "3*"
std::string join_node_fields(const std::vector<std::string>& fields);

/// The field of node `index` in such a text.
/// @throws UsageError naming the variable if there are fewer fields or a count is not a number.
std::string node_field(std::string_view name, const std::string& text, int index);

}  // namespace dtrain::cluster
