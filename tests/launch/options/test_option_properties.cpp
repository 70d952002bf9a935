// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any command line, checked on seeded inputs: options end at the script, whose
// words are its own, and what is refused is named.
#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/options/option_table.hpp"
#include "launch/options/options.hpp"
#include "support/fuzz.hpp"

namespace dtrain::launch {
namespace {

using tests::Mutator;
using Words = std::vector<std::string>;

const tests::Corpus command_lines{
    .examples = {"--gpus 0,1 train.py --batch_size=64", "--nproc_per_node 2 job.toml",
                 "--nproc_per_node=2 train.py", "--dry-run --selected_gpus 0 train.py",
                 "--dry-run=json --bind none train.py -x",
                 "--log_dir my/logs --job_id night --run_mode collective -- --strange",
                 "--grace 0.5 train.py", "--start_port 6170 --devices=0 train.py --gpus 3 -h",
                 "--servers 10.0.0.1:6170,10.0.0.2 --workers 10.0.0.1 train.py",
                 "--server_num 1 --worker_num=4 --heter_worker_num 2;1 train.py",
                 "--log_overwrite True train.py",
                 "--log-mode 640 --log-max-size 100M --hang-timeout 2.5 train.py", "train.py", "--help",
                 "--version"},
    .pieces = {"--gpus",
               "--devices=",
               "--nproc_per_node",
               "--log_dir",
               "--log-dir=",
               "--run_mode",
               "--job_id",
               "--start_port",
               "--grace",
               "--bind",
               "--dry-run",
               "--help",
               "-h",
               "--",
               "-",
               "=",
               " ",
               " ",
               " ",
               " ",
               "train.py",
               "0,1",
               "none",
               "auto",
               "collective",
               "json"}};

const Environment every_variable{{"DTRAIN_GRACE", "3"},
                                 {"DTRAIN_LOG_MAX_SIZE", "100M"},
                                 {"DTRAIN_LOG_MODE", "640"},
                                 {"PADDLE_NNODES", "1"},
                                 {"PADDLE_START_PORT", "6170"},
                                 {"PADDLE_LOG_OVERWRITE", "0"},
                                 {"PADDLE_MASTER", "10.0.0.1:6170"}};

struct CommandLine {
    Words words;
    Environment environment;
    std::vector<Setting> settings;
};

std::string as_literal(const CommandLine& line) {
    Words settings;
    for (const auto& [name, value, origin] : line.settings) settings.push_back(name + " = " + value);
    return tests::as_literal(line.words) + "with " + tests::as_literal(line.environment) + "and " +
           tests::as_literal(settings);
}

CommandLine any_command_line(Mutator& mutator) {
    const auto environment = mutator.one_in(2) ? Environment{} : mutator.environment(every_variable);
    CommandLine line{mutator.words(), environment, {}};
    if (mutator.one_in(4))
        line.settings = {
            {mutator.one_in(4) ? mutator.text() : "grace", mutator.damaged("10"), "/etc/dtrain.toml"}};
    return line;
}

/// The ways in which messages may spell the option of a word.
Words spellings(const std::string& word) {
    const auto name = word.substr(0, word.find('='));
    auto underscores = name, dashes = name;
    const auto behind = std::min<std::ptrdiff_t>(2, std::ssize(name));
    std::replace(underscores.begin() + behind, underscores.end(), '-', '_');
    std::replace(dashes.begin() + behind, dashes.end(), '_', '-');
    Words out{name, underscores, dashes};
    if (const auto* row = find_option(std::string_view(name).substr(static_cast<std::size_t>(behind))))
        out.push_back("--" + std::string(row->name));
    return out;
}

TEST(LaunchOptionsProperties, AnyCommandLineIsRefusedInWordsOrLeavesTheScriptItsOwn) {
    tests::for_all(command_lines, any_command_line, [](const CommandLine& line) {
        const auto& [words, environment, settings] = line;
        try {
            const auto parsed = parse_options(words, environment, settings);
            if (parsed.text) {
                EXPECT_FALSE(parsed.text->empty());
                return;
            }
            const auto& options = parsed.options;
            const auto& own = options.script_arguments;
            ASSERT_LT(own.size(), words.size());
            EXPECT_EQ(options.script, words[words.size() - own.size() - 1]);
            EXPECT_EQ(own, Words(words.end() - static_cast<std::ptrdiff_t>(own.size()), words.end()));
            EXPECT_GE(options.grace, std::chrono::seconds(0));
            EXPECT_LE(options.grace, std::chrono::hours(24));

            auto more = words;
            const Words added{"--gpus", "7", "--help", "--nproc_per_node=x", "--"};
            more.insert(more.end(), added.begin(), added.end());
            const auto again = parse_options(more, environment, settings);
            EXPECT_EQ(again.text, std::nullopt);
            auto expected = options;
            expected.script_arguments = Words(words.end() - std::ssize(own), words.end());
            expected.script_arguments.insert(expected.script_arguments.end(), added.begin(), added.end());
            EXPECT_EQ(again.options, expected);
        } catch (const UsageError& error) {
            Words named{"/etc/dtrain.toml", "no training script"};
            for (const auto& [name, value] : every_variable) named.push_back(name + "=");
            for (const auto& word : words) {
                const auto spelled = spellings(word);
                named.insert(named.end(), spelled.begin(), spelled.end());
                if (word.starts_with("=")) named.push_back(word);
            }
            EXPECT_TRUE(tests::is_helpful(error.what(), named));
        }
    });
}

}  // namespace
}  // namespace dtrain::launch
