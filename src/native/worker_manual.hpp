// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain::native {

/// dtrain-worker.1: its own options, and those of the job that it runs.
std::string manual_page();

/// The shell completion script for both sets of options.
/// @param shell "bash" or "zsh"
std::string completion_script(const std::string& shell);

}  // namespace dtrain::native
