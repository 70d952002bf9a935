// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

namespace dtrain::launch {

/// Whether a command line is `key show` or `key install`, as opposed to a script called key.
bool is_key_command(const std::vector<std::string>& arguments);

/// `key show` prints the command that installs this node's key on another node, and creates a key if there is
/// none; `key install [KEY]` writes a key given as argument or on stdin.
int run_key_command(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace dtrain::launch
