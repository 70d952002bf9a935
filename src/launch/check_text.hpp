// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launch/check_diagnosis.hpp"

namespace dtrain::launch {

/// What --check prints: a row for each node, then what is wrong and its remedy, then the sum. Pure.
std::string check_text(const std::vector<CheckedNode>& nodes, const std::vector<Finding>& findings);

}  // namespace dtrain::launch
