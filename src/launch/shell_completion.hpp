// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain::launch {

/// A completion script for bash or zsh: `source <(dtrain-launch --print-completion bash)`. Generated from the
/// table of options.
/// @param shell "bash" or "zsh"
std::string completion_script(const std::string& shell);

/// dtrain-launch.1 in roff, from the same table.
std::string manual_page();

}  // namespace dtrain::launch
