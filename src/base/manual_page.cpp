// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/manual_page.hpp"

#include <fmt/format.h>

#include <dtrain/version.hpp>

#include "base/text.hpp"

namespace dtrain {
namespace {

std::string roff(std::string_view text) {
    std::string out;
    bool line_begins = true;
    for (const char letter : text) {
        // A line that begins with a dot or an apostrophe would be a roff request.
        if (line_begins && (letter == '.' || letter == '\'')) out += "\\&";
        line_begins = letter == '\n';
        switch (letter) {
            case '\\':
                out += "\\e";
                break;
            case '-':
                out += "\\-";
                break;
            case '\'':
                out += "\\(aq";
                break;
            case '~':
                out += "\\(ti";
                break;
            case '^':
                out += "\\(ha";
                break;
            case '`':
                out += "\\(ga";
                break;
            default:
                out += letter;
        }
    }
    return out;
}

std::string upper_case(std::string text) {
    for (char& letter : text)
        if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    return text;
}

std::string bold(std::string_view text) {
    return "\\fB" + roff(text) + "\\fR";
}

std::string sentence(std::string_view text) {
    auto out = roff(text);
    if (!out.empty() && out.back() != '.') out += '.';
    return out + "\n";
}

std::string option_text(const OptionText& option) {
    std::vector<std::string> names;
    for (const auto& name : option.names) names.push_back(bold(name));
    auto out = ".TP\n" + join(names, ", ");
    if (!option.value.empty())
        out += fmt::format(fmt::runtime(option.value_is == ValueIs::needed     ? " \\fI{}\\fR"
                                        : option.value_is == ValueIs::optional ? " [\\fI{}\\fR]"
                                                                               : "[=\\fI{}\\fR]"),
                           roff(option.value));
    return out + "\n" + sentence(option.help);
}

}  // namespace

std::string roff_of(const ManualPage& page) {
    std::vector<std::string> names;
    for (const auto& program : page.programs) names.push_back(roff(program));
    const auto& program = page.programs.front();
    std::string out =
        fmt::format(".TH {} 1 \"\" \"dtrain {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
                    upper_case(program), version, join(names, ", "), roff(page.summary));
    for (std::size_t way = 0; way < page.synopsis.size(); ++way)
        out += (way == 0 ? "" : ".br\n") + bold(program) + " " + roff(page.synopsis[way]) + "\n";
    out += ".SH DESCRIPTION\n" + roff(page.description) + "\n";
    for (const auto& section : page.sections) {
        out += fmt::format(".SH {}\n", roff(upper_case(section.title)));
        for (const auto& option : section.options) out += option_text(option);
    }
    if (!page.commands.empty()) out += ".SH COMMANDS\n";
    for (const auto& command : page.commands)
        out += fmt::format(".TP\n{} {}\n{}", bold(program + " " + command.name), roff(command.arguments),
                           sentence(command.help));
    if (!page.examples.empty()) out += ".SH EXAMPLES\n.nf\n" + roff(page.examples) + "\n.fi\n";
    for (const auto& [title, text] : page.paragraphs)
        out += fmt::format(".SH {}\n{}\n", roff(title), roff(text));
    if (!page.see_also.empty()) {
        std::vector<std::string> others;
        for (const auto& other : page.see_also) others.push_back(bold(other) + "(1)");
        out += ".SH SEE ALSO\n" + join(others, ",\n") + "\n";
    }
    return out;
}

}  // namespace dtrain
