// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// What a program takes on its command line, as its completion scripts and its manual page are made of it.
namespace dtrain {

enum class ValueIs {
    needed,
    optional,
    behind_equals,  ///< optional, and the next word is never taken for it
};

struct OptionText {
    std::vector<std::string> names;  ///< with their dashes
    std::string value;               ///< what the manual calls the value; "" for a switch
    std::string help;
    std::vector<std::string> choices;  ///< the only values, where they are few
    ValueIs value_is = ValueIs::needed;
};

struct OptionSection {
    std::string title;
    std::vector<OptionText> options;
};

/// What the first word of a command line may be, instead of an option or a file.
struct CommandText {
    std::string name;
    std::string arguments;
    std::string help;
    std::vector<std::string> options;  ///< for completion
    bool takes_files = false;          ///< likewise
};

}  // namespace dtrain
