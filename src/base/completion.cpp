// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/completion.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain {
namespace {

bool names_a_file(const OptionText& option) {
    return option.value.starts_with("FILE") || option.value.starts_with("DIR") ||
           option.value.ends_with("FOLDER") || option.value.starts_with("PATH");
}

/// Name of the shell function: "_dtrain_launch".
std::string function_of(const Completion& completion) {
    auto name = "_" + completion.programs.front();
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

/// "--bind|--bind=": patterns of the option before its value, which is the next argument or follows '='.
std::vector<std::string> before_a_value(const OptionText& option) {
    std::vector<std::string> patterns;
    for (const auto& name : option.names) {
        if (option.value_is != ValueIs::behind_equals) patterns.push_back(name);
        patterns.push_back(name + "=");
    }
    return patterns;
}

/// One branch of "case $given in" for each kind of value.
std::string value_cases(const std::vector<OptionText>& options) {
    std::string out;
    std::vector<std::string> files, others;
    for (const auto& option : options) {
        if (option.value.empty()) continue;
        const auto patterns = before_a_value(option);
        if (!option.choices.empty())
            out += fmt::format("        {}) COMPREPLY=($(compgen -W \"{}\" -- \"$arg\")); return ;;\n",
                               join(patterns, "|"), join(option.choices, " "));
        else
            for (const auto& pattern : patterns) (names_a_file(option) ? files : others).push_back(pattern);
    }
    if (!files.empty())
        out +=
            fmt::format("        {}) COMPREPLY=($(compgen -f -- \"$arg\")); return ;;\n", join(files, "|"));
    if (!others.empty()) out += fmt::format("        {}) return ;;\n", join(others, "|"));
    return out;
}

std::string command_cases(const std::vector<CommandText>& commands) {
    if (commands.empty()) return "";
    std::vector<std::string> names;
    std::string cases;
    for (const auto& command : commands) {
        names.push_back(command.name);
        if (!command.options.empty())
            cases += fmt::format("        {}) COMPREPLY=($(compgen -W \"{}\" -- \"$arg\")); return ;;\n",
                                 command.name, join(command.options, " "));
    }
    return fmt::format(R"(    if [[ $COMP_CWORD -eq 1 && $arg != -* ]]; then
        COMPREPLY=($(compgen -W "{}" -- "$arg") $(compgen -f -- "$arg")); return
    fi
    case ${{COMP_WORDS[1]}} in
{}    esac
)",
                       join(names, " "), cases);
}

constexpr std::string_view bash_behind_dashes = R"(    local at
    for ((at = 1; at < COMP_CWORD; at++)); do
        [[ ${COMP_WORDS[at]} == -- ]] || continue
        if ((at + 1 == COMP_CWORD)); then
            COMPREPLY=($(compgen -c -- "$arg"))
        else
            COMPREPLY=($(compgen -f -- "$arg"))
        fi
        return
    done
)";

std::string bash_script(const Completion& completion) {
    std::vector<std::string> names;
    for (const auto& option : completion.options)
        names.insert(names.end(), option.names.begin(), option.names.end());
    // bash treats '=' as a separate argument.
    return fmt::format(
        R"(# bash completion of {programs}
{function}() {{
    local arg=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} given
    COMPREPLY=()
{dashes}{commands}    given=$before
    if [[ $arg == = ]]; then
        given=$before= arg=
    elif [[ $before == = ]]; then
        given=${{COMP_WORDS[COMP_CWORD-2]}}=
    fi
    case $given in
{values}    esac
    case $arg in
        -*) COMPREPLY=($(compgen -W "{names}" -- "$arg")) ;;
        *) COMPREPLY=($(compgen -f -- "$arg")) ;;
    esac
}}
complete -o filenames -F {function} {space_programs}
)",
        fmt::arg("programs", join(completion.programs, " and ")),
        fmt::arg("function", function_of(completion)),
        fmt::arg("dashes", completion.program_behind_dashes ? bash_behind_dashes : ""),
        fmt::arg("commands", command_cases(completion.commands)),
        fmt::arg("values", value_cases(completion.options)), fmt::arg("names", join(names, " ")),
        fmt::arg("space_programs", join(completion.programs, " ")));
}

/// Escapes a text for zsh's _arguments, in which brackets and colons are special.
std::string zsh_text(std::string_view text) {
    std::string out;
    for (const char letter : text) {
        if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') out += '\\';
        out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    }
    return out;
}

std::string zsh_value(const OptionText& option) {
    if (option.value.empty()) return "";
    // Two colons: the value is optional.
    return fmt::format("{}{}:{}", option.value_is == ValueIs::needed ? ":" : "::", zsh_text(option.value),
                       !option.choices.empty() ? fmt::format("({})", join(option.choices, " "))
                       : names_a_file(option)  ? "_files"
                                               : "");
}

constexpr std::string_view zsh_behind_dashes = R"(  local dashes=${words[(i)--]}
  if (( dashes < CURRENT )); then
    words=("${(@)words[dashes+1,-1]}")
    (( CURRENT -= dashes ))
    _normal
    return
  fi
)";

std::string zsh_script(const Completion& completion) {
    std::string options, commands;
    for (const auto& option : completion.options)
        for (const auto& name : option.names) {
            const auto ends = name == "--help" || name == "-h" || name == "--version" ? "(- *)" : "";
            const auto equals = option.value.empty()                        ? ""
                                : option.value_is == ValueIs::behind_equals ? "=-"
                                                                            : "=";
            options += fmt::format("    '{}{}{}[{}]{}' \\\n", ends, name, equals, zsh_text(option.help),
                                   zsh_value(option));
        }
    for (const auto& command : completion.commands) commands += " " + command.name;
    if (!commands.empty()) commands = fmt::format("  (( CURRENT == 2 )) && compadd --{}\n", commands);
    // If zsh loads the file from its folder, the file is the function; if it is sourced, it must register the
    // completion.
    return fmt::format(
        R"(#compdef {programs}
{function}() {{
{dashes}{commands}  _arguments \
{options}    '*:{args}:_files'
}}
if [[ ${{funcstack[1]}} == _{program} ]]; then
  {function} "$@"
else
  compdef {function} {programs}
fi
)",
        fmt::arg("programs", join(completion.programs, " ")),
        fmt::arg("program", completion.programs.front()), fmt::arg("function", function_of(completion)),
        fmt::arg("dashes", completion.program_behind_dashes ? zsh_behind_dashes : ""),
        fmt::arg("commands", commands), fmt::arg("options", options), fmt::arg("args", completion.args));
}

}  // namespace

std::string completion_script(const Completion& completion, const std::string& shell) {
    return shell == "zsh" ? zsh_script(completion) : bash_script(completion);
}

}  // namespace dtrain
