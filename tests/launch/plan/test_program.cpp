// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the documented rule (.py, .toml, else a program), on a made-up file system.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/plan/program.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using testing::ElementsAre;
using tests::refuses;

constexpr const char* native = "/opt/dtrain/libexec/dtrain/dtrain-native";

/// train.py, job.toml and notes.txt are plain files, ./tool, sub/tool, ./date can be executed; PATH has date.
FileQuestions files() {
    return {.exists =
                [](const std::string& path) {
                    return std::set<std::string>{"train.py",  "dir/a b.py", "job.toml", "./notes.txt",
                                                 "./tool",    "sub/tool",   "sub/data", "./date",
                                                 "notes.txt", "tool"}
                        .contains(path);
                },
            .executable =
                [](const std::string& path) {
                    return std::set<std::string>{"./tool", "sub/tool", "./date"}.contains(path);
                },
            .in_path = [](const std::string& name) -> std::optional<std::string> {
                if (name == "date") return "/usr/bin/date";
                if (name == "sub/tool") return name;  // as execvp: a path is taken as it is
                return std::nullopt;
            }};
}

std::vector<std::string> program(const std::string& script, const std::vector<std::string>& arguments = {}) {
    return program_for(script, arguments, native, files());
}

TEST(ProgramFor, PythonScriptsRunUnbuffered) {
    EXPECT_THAT(program("train.py", {"--lr", "0.1", ""}),
                ElementsAre("python3", "-u", "train.py", "--lr", "0.1", ""));
    EXPECT_THAT(program("dir/a b.py"), ElementsAre("python3", "-u", "dir/a b.py"));
}

TEST(ProgramFor, DtrainRunNamesItsInterpreter) {
    const auto run = [](std::vector<std::string> interpreter, const std::string& script,
                        bool script_is_file = true) {
        Options options{.script = script, .script_arguments = {"--lr", "1"}};
        options.torch = TorchRun{.interpreter = std::move(interpreter), .script_is_file = script_is_file};
        return program_of_torch_run(options, files());
    };
    EXPECT_THAT(run({"date", "-u"}, "train.py"), ElementsAre("date", "-u", "train.py", "--lr", "1"));
    EXPECT_THAT(run({"date", "-u", "-m"}, "package.train", false),
                ElementsAre("date", "-u", "-m", "package.train", "--lr", "1"));
    EXPECT_THAT(run({}, "tool"), ElementsAre("./tool", "--lr", "1"));
    EXPECT_THAT([&] { run({"date", "-u"}, "gone.py"); }, refuses("training script \"gone.py\" not found"));
    EXPECT_THAT([&] { run({"python9", "-u"}, "train.py"); }, refuses("no Python: there is no \"python9\""));
    EXPECT_THAT([&] { run({}, "notes.txt"); }, refuses("\"notes.txt\" is not executable"));
}

TEST(ProgramFor, JobFilesRunTheNativeTrainer) {
    EXPECT_THAT(program("job.toml", {"--resume"}), ElementsAre(native, "job.toml", "--resume"));
}

TEST(ProgramFor, ProgramsAreFoundInPathThenHere) {
    EXPECT_THAT(program("date", {"-u"}), ElementsAre("/usr/bin/date", "-u"));
    EXPECT_THAT(program("tool", {"-x"}), ElementsAre("./tool", "-x"));
    EXPECT_THAT(program("sub/tool"), ElementsAre("sub/tool"));
}

TEST(ProgramFor, WhatIsNotThereIsNamed) {
    for (const char* script : {"no.py", "no.toml", "dir/no", "./no"})
        EXPECT_THAT([&] { program(script); }, refuses("\"" + std::string(script) + "\" not found"));
    EXPECT_THAT([] { program("nope"); }, refuses("\"nope\" not found here or in PATH"));
}

TEST(ProgramFor, WhatCannotBeExecutedIsNamedWithTheCure) {
    for (const char* script : {"notes.txt", "sub/data"})
        EXPECT_THAT([&] { program(script); },
                    refuses(std::string(script) + "\" is not executable", "chmod +x"));
}

}  // namespace
}  // namespace dtrain::launch
