// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any command line, checked on seeded inputs: options end at the script, whose
// words are its own, and what is refused is named.
#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/options.hpp"
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
                 "--grace 0.5 train.py", "--start_port 6170 --devices=0 train.py --gpus 3 -h", "train.py",
                 "--help", "--version"},
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

struct CommandLine {
    Words words;
    Environment environment;
};

std::string as_literal(const CommandLine& line) {
    return tests::as_literal(line.words) + "with " + tests::as_literal(line.environment);
}

CommandLine any_command_line(Mutator& mutator) {
    return {mutator.words(), mutator.environment({{"DTRAIN_GRACE", "3"}})};
}

/// The option in a word, as messages spell it.
std::string canonical(const std::string& word) {
    auto name = word.substr(0, word.find('='));
    if (name == "--devices" || name == "--selected_gpus") return "--gpus";
    std::replace(name.begin() + std::min<std::ptrdiff_t>(2, std::ssize(name)), name.end(), '-', '_');
    return name;
}

/// `words` without its last `count`.
Words before_last(const Words& words, std::size_t count) {
    return {words.begin(), words.end() - static_cast<std::ptrdiff_t>(count)};
}

TEST(LaunchOptionsProperties, AnyCommandLineIsRefusedInWordsOrLeavesTheScriptItsOwn) {
    tests::for_all(command_lines, any_command_line, [](const CommandLine& line) {
        const auto& [words, environment] = line;
        try {
            const auto parsed = parse_options(words, environment);
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
            const auto again = parse_options(more, environment);
            EXPECT_EQ(again.text, std::nullopt);
            EXPECT_EQ(again.options.gpus, options.gpus);
            EXPECT_EQ(again.options.script, options.script);
            EXPECT_EQ(before_last(again.options.script_arguments, added.size()), own);
        } catch (const UsageError& error) {
            Words named{"DTRAIN_GRACE", "no training script"};
            for (const auto& word : words) {
                named.push_back(word.substr(0, word.find('=')));
                named.push_back(canonical(word));
                if (word.starts_with("=")) named.push_back(word);
            }
            EXPECT_TRUE(tests::is_helpful(error.what(), named));
        }
    });
}

}  // namespace
}  // namespace dtrain::launch
