// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launch/check_diagnosis.hpp"

namespace dtrain::launch {

/// The output of --check: a row for each node, then the findings with their remedies, then the summary. Pure.
std::string check_text(const std::vector<CheckedNode>& nodes, const std::vector<Finding>& findings);

}  // namespace dtrain::launch
