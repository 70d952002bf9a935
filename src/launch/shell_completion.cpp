// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/shell_completion.hpp"

#include "base/completion.hpp"
#include "base/manual_page.hpp"
#include "launch/command_table.hpp"
#include "launch/option_table.hpp"

namespace dtrain::launch {
namespace {

const std::vector<std::string> programs{"dtrain-launch", "fleetrun"};

OptionText text_of(const OptionRow& row) {
    OptionText text{.value = std::string(row.value),
                    .help = std::string(row.help),
                    .choices = {row.choices.begin(), row.choices.end()},
                    .value_is = row.alone.empty() ? ValueIs::needed : ValueIs::behind_equals};
    for (const auto& name : names_of(row)) text.names.push_back("--" + std::string(name));
    return text;
}

/// The options of a group that dtrain supports.
std::vector<OptionText> texts_of(OptionGroup group) {
    std::vector<OptionText> texts;
    if (group == OptionGroup::base)
        texts = {{.names = {"-h", "--help"}, .help = "Print the options and exit"},
                 {.names = {"--version"}, .help = "Print the version and exit"}};
    for (const auto& row : option_table())
        if (row.group == group && row.answer == Answer::done) texts.push_back(text_of(row));
    return texts;
}

std::vector<CommandText> command_texts() {
    std::vector<CommandText> texts;
    for (const auto& row : command_table())
        texts.push_back({.name = std::string(row.name),
                         .arguments = std::string(row.arguments),
                         .help = std::string(row.help),
                         .options = {row.options.begin(), row.options.end()}});
    return texts;
}

}  // namespace

std::string completion_script(const std::string& shell) {
    Completion completion{
        .programs = programs, .commands = command_texts(), .args = "training script and its arguments"};
    for (const auto group : option_groups)
        for (auto& text : texts_of(group)) completion.options.push_back(std::move(text));
    return dtrain::completion_script(completion, shell);
}

std::string manual_page() {
    ManualPage page{
        .programs = programs,
        .summary = "start a distributed training job through mpirun",
        .synopsis = {"[options] script [script options]"},
        .description = std::string(program_description) +
                       " Options end at the first word that is none; everything behind it belongs to the "
                       "script.",
        .commands = command_texts(),
        .examples = std::string(program_examples),
        .paragraphs =
            {{"EXIT STATUS",
              "0 when every rank ended with 0; else that of the rank that failed first (128 + n for signal "
              "n); 128 + n when dtrain-launch itself got signal n; 2 when the command line or its input is "
              "wrong, and then nothing was started."},
             {"FILES",
              "/etc/dtrain.toml and ~/.config/dtrain.toml hold defaults of options, one \"name = value\" a "
              "line."}},
        .see_also = {"dtrain-worker", "mpirun"}};
    for (const auto group : option_groups)
        page.sections.push_back(
            {group == OptionGroup::dtrain ? "Parameters of dtrain" : std::string(to_string(group)),
             texts_of(group)});
    return roff_of(page);
}

}  // namespace dtrain::launch
