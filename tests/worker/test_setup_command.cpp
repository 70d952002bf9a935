// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what a shell that runs the commands by hand would print and return.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/subprocess.hpp"
#include "worker/setup_command.hpp"

namespace dtrain::worker {
namespace {

Captured run(const std::string& setup, const std::vector<std::string>& argv) {
    return run_and_capture({.argv = with_setup(setup, argv), .environment = Environment::of_this_process()},
                           std::chrono::seconds(20));
}

TEST(SetupCommand, TheProgramGetsWhatTheCommandsSetAndItsOwnWords) {
    const auto done =
        run("A='x y'; export A\nB=hidden", {"sh", "-c", "echo \"$A|$B|$1|$2\"", "sh", "two words", "*"});
    EXPECT_EQ(done.out, "x y||two words|*\n");
    EXPECT_EQ(done.status.code, 0);
}

TEST(SetupCommand, AFailingCommandStartsNoProgram) {
    const auto done = run("(exit 7); export A=1", {"echo", "started"});
    EXPECT_EQ(done.out, "");
    EXPECT_EQ(done.status.code, 7);
}

TEST(SetupCommand, TheShellBecomesTheProgram) {
    const auto done = run("true; pid=$$; export pid", {"sh", "-c", "test $pid = $$ && echo same"});
    EXPECT_EQ(done.out, "same\n");
}

}  // namespace
}  // namespace dtrain::worker
