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

/// Files with defaults of options, in order of increasing priority: /etc/dtrain.toml, then dtrain.toml in the
/// user's configuration folder ($XDG_CONFIG_HOME, ~/.config).
std::vector<std::filesystem::path> settings_files(const Environment& environment);

/// Parses `name = value` lines of a TOML file; names are options without dashes. Pure.
/// @throws UsageError naming file and line for invalid TOML, or a value that is a table or a list.
std::vector<Setting> parse_settings(std::string_view toml, const std::string& origin);

/// The settings of all files that exist.
std::vector<Setting> read_settings(const std::vector<std::filesystem::path>& files);

}  // namespace dtrain::launch
