// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The addresses of all ranks as one text.
namespace dtrain::cluster {

/// "a:6170,a:6171,b:6170"; if that is too long for one variable, "a:6170-6171,b:6170".
std::string endpoint_list(const std::vector<std::string>& endpoints);

/// Parses both forms.
/// @throws UsageError quoting a part with an invalid range of ports.
std::vector<std::string> parse_endpoint_list(std::string_view text);

/// Content of the file for programs whose environment cannot hold the list: Paddle's endpoints.log.
std::string endpoints_file(const std::vector<std::string>& endpoints);

}  // namespace dtrain::cluster
