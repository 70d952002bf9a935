// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/options.hpp"

namespace dtrain::launch {

/// Where defaults of options may stand, weakest first: /etc/dtrain.toml, then dtrain.toml in the user's
/// configuration folder ($XDG_CONFIG_HOME, ~/.config).
std::vector<std::filesystem::path> settings_files(const Environment& environment);

/// `name = value` lines of a TOML file; names are options without the dashes. Pure.
/// @throws UsageError naming file and line for what is no TOML, or a value that is a table or a list.
std::vector<Setting> parse_settings(std::string_view toml, const std::string& origin);

/// Those of all files that exist.
std::vector<Setting> read_settings(const std::vector<std::filesystem::path>& files);

}  // namespace dtrain::launch
