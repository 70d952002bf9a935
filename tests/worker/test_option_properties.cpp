// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any command line, checked on seeded inputs: a program keeps its words, a native
// job gets everything from the first word that is no option of dtrain-worker, and what is refused is named.
#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "support/fuzz.hpp"
#include "worker/options.hpp"

namespace dtrain::worker {
namespace {

using tests::Mutator;
using Task = Options::Task;
using Words = std::vector<std::string>;

const tests::Corpus command_lines{
    .examples = {"-- python3 train.py --log_dir theirs --", "--log_dir ours --grace 0.5 -- true",
                 "--start_port 6170 --bind none job.toml --epochs 3", "job.toml --help",
                 "--epochs=3 --log_dir x", "--info", "--info=json", "--resume",
                 "--log-dir=l --start-port=6170 -- true", "-h", "--version"},
    .pieces = {
        "--log_dir", "--log-dir=", "--grace", "--start_port", "--bind", "--info", "--epochs", "--resume",
        "--help",    "-h",         "--",      "--",           "-",      "=",      " ",        " ",
        " ",         " ",          "true",    "job.toml",     "none",   "auto",   "json"}};

struct CommandLine {
    Words words;
    Environment environment;
};

std::string as_literal(const CommandLine& line) {
    return tests::as_literal(line.words) + "with " + tests::as_literal(line.environment);
}

/// The option in a word, as messages spell it.
std::string canonical(const std::string& word) {
    auto name = word.substr(0, word.find('='));
    std::replace(name.begin() + std::min<std::ptrdiff_t>(2, std::ssize(name)), name.end(), '-', '_');
    return name;
}

CommandLine any_command_line(Mutator& mutator) {
    return {mutator.words(), mutator.environment({{"DTRAIN_GRACE", "3"}, {"DTRAIN_LOG_DIR", "log"}})};
}

TEST(WorkerOptionsProperties, AnyCommandLineIsRefusedInWordsOrHandsOnWhatIsNotItsOwn) {
    tests::for_all(command_lines, any_command_line, [](const CommandLine& line) {
        const auto& [words, environment] = line;
        try {
            const auto parsed = parse_options(words, environment);
            if (parsed.text) {
                EXPECT_FALSE(parsed.text->empty());
                return;
            }
            const auto& options = parsed.options;
            EXPECT_GE(options.grace, std::chrono::seconds(0));
            EXPECT_LE(options.grace, std::chrono::hours(24));
            EXPECT_TRUE(!options.start_port || (*options.start_port >= 1 && *options.start_port <= 65000));
            if (options.task == Task::info) return;
            ASSERT_LE(options.command.size(), words.size());
            EXPECT_TRUE(std::equal(options.command.rbegin(), options.command.rend(), words.rbegin()));
            const bool runs_a_program = std::find(words.begin(), words.end(), "--") != words.end();
            EXPECT_EQ(options.task, runs_a_program ? Task::supervise : Task::native_job);

            auto more = words;
            const Words added{"--log_dir", "theirs", "--help", "--bind=x"};
            more.insert(more.end(), added.begin(), added.end());
            if (options.command.empty()) return;
            const auto again = parse_options(more, environment);
            EXPECT_EQ(again.options.log_dir, options.log_dir);
            EXPECT_EQ(again.options.command.size(), options.command.size() + added.size());
        } catch (const UsageError& error) {
            Words named{"DTRAIN_GRACE", "no program after --", "\"\" is no job file"};
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
}  // namespace dtrain::worker
