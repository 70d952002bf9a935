// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dtrain::transpiler {

/// @param option that the list is of, as messages say it
/// @param list as the user wrote it
/// @param endpoints of the list
/// @throws UsageError when there is none, one has no port or comes twice
void check_endpoints(const char* option, const std::string& list, const std::vector<std::string>& endpoints);

}  // namespace dtrain::transpiler
