// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/option_text.hpp"

namespace dtrain {

struct ManualPage {
    std::vector<std::string> programs;  ///< the program, then its aliases
    std::string summary;                ///< text after the dash in NAME
    std::vector<std::string> synopsis;  ///< what may follow the program's name, one line for each form
    std::string description;
    std::vector<OptionSection> sections;
    std::vector<CommandText> commands;
    std::string examples;  ///< shown verbatim
    struct Paragraph {
        std::string title, text;
    };
    std::vector<Paragraph> paragraphs;  ///< shown after the options
    std::vector<std::string> see_also;  ///< other programs
};

/// The page in roff, section 1.
std::string roff_of(const ManualPage& page);

}  // namespace dtrain
