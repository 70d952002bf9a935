// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

namespace dtrain::launch {

/// Whether a command line is `key show` or `key install`, and no script called key.
bool is_key_command(const std::vector<std::string>& arguments);

/// `key show` prints the command that gives another node this node's key, and makes a key where there is
/// none; `key install [KEY]` writes a key that is given or read from stdin.
int run_key_command(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace dtrain::launch
