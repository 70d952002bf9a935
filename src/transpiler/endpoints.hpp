// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dtrain::transpiler {

/// @param option name of the option, for messages
/// @param list as the user wrote it
/// @param endpoints parsed from the list
/// @throws UsageError if there is none, or one has no port or occurs twice
void check_endpoints(const char* option, const std::string& list, const std::vector<std::string>& endpoints);

}  // namespace dtrain::transpiler
