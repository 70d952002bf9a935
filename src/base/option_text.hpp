// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// A program's command line, as input for its completion scripts and its manual page.
namespace dtrain {

enum class ValueIs {
    needed,
    optional,
    behind_equals,  ///< optional, and the next argument is never taken as the value
};

struct OptionText {
    std::vector<std::string> names;  ///< with dashes
    std::string value;               ///< placeholder for the value in the manual; "" for a switch
    std::string help;
    std::vector<std::string> choices;  ///< the allowed values, if there are few
    ValueIs value_is = ValueIs::needed;
};

struct OptionSection {
    std::string title;
    std::vector<OptionText> options;
};

/// A command that may be the first argument of a command line, instead of an option or a file.
struct CommandText {
    std::string name;
    std::string arguments;
    std::string help;
    std::vector<std::string> options;  ///< for completion
};

}  // namespace dtrain
