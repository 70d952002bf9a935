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
    std::string args;                    ///< what the arguments are that are no options: "training script"
    bool program_behind_dashes = false;  ///< behind -- comes a command line of somebody else
};

/// A script that bash or zsh completes the program's command lines with: sourced, or lying in the folder
/// where the shell looks for it (zsh: as _PROGRAM).
/// @param shell "bash" or "zsh"
std::string completion_script(const Completion& completion, const std::string& shell);

}  // namespace dtrain
