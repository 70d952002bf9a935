// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/shell_completion.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "launch/command_table.hpp"
#include "launch/option_table.hpp"

namespace dtrain::launch {
namespace {

std::vector<std::string> usable_names() {
    std::vector<std::string> names{"--help", "--version"};
    for (const auto& row : option_table()) {
        if (row.answer != Answer::done) continue;
        for (const auto& name : names_of(row)) names.push_back(fmt::format("--{}", name));
    }
    return names;
}

std::vector<std::string> command_names() {
    std::vector<std::string> names;
    for (const auto& row : command_table()) names.emplace_back(row.name);
    return names;
}

/// Commands that have options of their own.
std::string command_cases() {
    std::string out;
    for (const auto& row : command_table())
        if (!row.options.empty())
            out += fmt::format("        {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n",
                               row.name, fmt::join(row.options, " "));
    return out;
}

bool names_a_file(const OptionRow& row) {
    return row.value == "FILE" || row.value == "DIR";
}

/// "--bind|--visible)" and what follows for options whose values are known words.
std::string choice_cases(std::string_view pattern) {
    std::string out;
    for (const auto& row : option_table())
        if (row.answer == Answer::done && !row.choices.empty() && row.alone.empty())
            out += fmt::format(fmt::runtime(pattern), row.name, fmt::join(row.choices, " "));
    return out;
}

std::string file_options() {
    std::vector<std::string> names;
    for (const auto& row : option_table())
        if (row.answer == Answer::done && names_a_file(row)) names.push_back(fmt::format("--{}", row.name));
    return join(names, "|");
}

/// Options that take a value without offering any.
std::string other_options() {
    std::vector<std::string> names;
    for (const auto& row : option_table())
        if (row.answer == Answer::done && !row.value.empty() && row.alone.empty() && row.choices.empty() &&
            !names_a_file(row))
            names.push_back(fmt::format("--{}", row.name));
    return join(names, "|");
}

std::string bash_script() {
    return fmt::format(
        R"(# bash completion of dtrain-launch and fleetrun
_dtrain_launch() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 && $word != -* ]]; then
        COMPREPLY=($(compgen -W "{}" -- "$word") $(compgen -f -- "$word")); return
    fi
    case ${{COMP_WORDS[1]}} in
{}    esac
    case $before in
{}        {}) COMPREPLY=($(compgen -f -- "$word")); return ;;
        {}) return ;;
    esac
    case $word in
        --*) COMPREPLY=($(compgen -W "{}" -- "$word")) ;;
        *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}}
complete -o filenames -F _dtrain_launch dtrain-launch fleetrun
)",
        join(command_names(), " "), command_cases(),
        choice_cases("        --{}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n"),
        file_options(), other_options(), join(usable_names(), " "));
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

std::string zsh_script() {
    std::string arguments;
    for (const auto& row : option_table()) {
        if (row.answer != Answer::done) continue;
        for (const auto& name : names_of(row)) {
            arguments +=
                fmt::format("    '--{}{}[{}]", name, row.value.empty() ? "" : "=", zsh_text(row.help));
            if (!row.value.empty())
                arguments +=
                    fmt::format(":{}:{}", zsh_text(row.value),
                                !row.choices.empty() ? fmt::format("({})", fmt::join(row.choices, " "))
                                : names_a_file(row)  ? "_files"
                                                     : "");
            arguments += "' \\\n";
        }
    }
    return fmt::format(R"(#compdef dtrain-launch fleetrun
_dtrain_launch() {{
  (( CURRENT == 2 )) && compadd -- {}
  _arguments \
    '(- *)--help[print this and exit]' \
    '(- *)--version[print the version and exit]' \
{}    '1:training script:_files' \
    '*::arguments of the script:_files'
}}
compdef _dtrain_launch dtrain-launch fleetrun
)",
                       join(command_names(), " "), arguments);
}

std::string roff(std::string_view text) {
    std::string out;
    for (const char letter : text) {
        if (letter == '\\')
            out += "\\e";
        else if (letter == '-')
            out += "\\-";
        else
            out += letter;
    }
    return out;
}

}  // namespace

std::string completion_script(const std::string& shell) {
    return shell == "zsh" ? zsh_script() : bash_script();
}

std::string manual_page() {
    std::string out = R"(.TH DTRAIN-LAUNCH 1 "" dtrain "User Commands"
.SH NAME
dtrain\-launch, fleetrun \- start a distributed training job through mpirun
.SH SYNOPSIS
.B dtrain\-launch
[options] script [script options]
.SH DESCRIPTION
Plans ranks, GPUs, cores and ports, starts them through mpirun, watches, and reports. Options end at the first word
that is none; everything behind it belongs to the script.
)";
    for (const auto group : option_groups) {
        out += fmt::format(".SH {}\n",
                           group == OptionGroup::dtrain ? "DTRAIN PARAMETERS" : roff(to_string(group)));
        for (const auto& row : option_table()) {
            if (row.group != group || row.answer != Answer::done) continue;
            out += ".TP\n\\fB\\-\\-" + roff(row.name) + "\\fR";
            if (!row.value.empty()) out += " \\fI" + roff(row.value) + "\\fR";
            out += "\n" + roff(row.help) + ".\n";
        }
    }
    out += ".SH COMMANDS\n";
    for (const auto& row : command_table())
        out += fmt::format(".TP\n\\fBdtrain\\-launch {}\\fR {}\n{}.\n", row.name, roff(row.arguments),
                           roff(row.help));
    out += R"(.SH EXIT STATUS
0 when every rank ended with 0; else that of the rank that failed first (128 + n for signal n); 128 + n when
dtrain\-launch itself got signal n; 2 when the command line or its input is wrong, and then nothing was started.
.SH FILES
/etc/dtrain.toml and ~/.config/dtrain.toml hold defaults of options, one "name = value" a line.
)";
    return out;
}

}  // namespace dtrain::launch
