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

/// A shell function's name: "_dtrain_launch".
std::string function_of(const Completion& completion) {
    auto name = "_" + completion.programs.front();
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

/// "--bind|--bind=": where a value follows as the next word, or behind '='.
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
            out += fmt::format("        {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n",
                               join(patterns, "|"), join(option.choices, " "));
        else
            for (const auto& pattern : patterns) (names_a_file(option) ? files : others).push_back(pattern);
    }
    if (!files.empty())
        out +=
            fmt::format("        {}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", join(files, "|"));
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
            cases += fmt::format("        {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\"){}); return ;;\n",
                                 command.name, join(command.options, " "),
                                 command.takes_files ? " $(compgen -f -- \"$word\")" : "");
    }
    return fmt::format(R"(    if [[ $COMP_CWORD -eq 1 && $word != -* ]]; then
        COMPREPLY=($(compgen -W "{}" -- "$word") $(compgen -f -- "$word")); return
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
            COMPREPLY=($(compgen -c -- "$word"))
        else
            COMPREPLY=($(compgen -f -- "$word"))
        fi
        return
    done
)";

std::string bash_script(const Completion& completion) {
    std::vector<std::string> names;
    for (const auto& option : completion.options)
        names.insert(names.end(), option.names.begin(), option.names.end());
    // bash takes '=' for a word of its own.
    return fmt::format(
        R"(# bash completion of {programs}
{function}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} given
    COMPREPLY=()
{dashes}{commands}    given=$before
    if [[ $word == = ]]; then
        given=$before= word=
    elif [[ $before == = ]]; then
        given=${{COMP_WORDS[COMP_CWORD-2]}}=
    fi
    case $given in
{values}    esac
    case $word in
        -*) COMPREPLY=($(compgen -W "{names}" -- "$word")) ;;
        *) COMPREPLY=($(compgen -f -- "$word")) ;;
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

/// A text in zsh's _arguments: brackets and colons mean something there.
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
    // Two colons: the value may be missing.
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
    // Found in a folder the file is the function; sourced it has to say what it completes.
    return fmt::format(
        R"(#compdef {programs}
{function}() {{
{dashes}{commands}  _arguments \
{options}    '*:{words}:_files'
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
        fmt::arg("commands", commands), fmt::arg("options", options), fmt::arg("words", completion.words));
}

}  // namespace

std::string completion_script(const Completion& completion, const std::string& shell) {
    return shell == "zsh" ? zsh_script(completion) : bash_script(completion);
}

}  // namespace dtrain
