// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/option_text.hpp"

namespace dtrain {

struct Completion {
    std::vector<std::string> programs;  ///< the program, then its aliases
    std::vector<OptionText> options;
    std::vector<CommandText> commands;
    std::string args;                    ///< name of the arguments after the options: "training script"
    bool program_behind_dashes = false;  ///< another program's command line follows after --
};

/// A script for bash or zsh that completes the program's command lines: sourced, or placed in the folder
/// where the shell looks for it (zsh: as _PROGRAM).
/// @param shell "bash" or "zsh"
std::string completion_script(const Completion& completion, const std::string& shell);

}  // namespace dtrain
