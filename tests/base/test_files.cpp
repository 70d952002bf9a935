// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what POSIX says a reader may see.
#include <csignal>
#include <filesystem>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

TEST(Files, ReplaceLeavesNothingBehind) {
    const tests::TemporaryFolder folder;
    replace_file(folder / "f", "one");
    replace_file(folder / "f", "two");
    EXPECT_EQ(read_file(folder / "f"), "two");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
    EXPECT_THROW(replace_file(folder / "no/f", "x"), std::system_error);
    EXPECT_EQ(read_file(folder / "missing"), std::nullopt);
}

TEST(Files, ReplaceFileGivesTheModeThatIsAsked) {
    const tests::TemporaryFolder folder;
    const auto umask_before = ::umask(0077);
    for (const mode_t mode : {0600, 0644, 0640}) {
        replace_file(folder / "f", "x", mode);
        EXPECT_EQ(static_cast<mode_t>(std::filesystem::status(folder / "f").permissions()), mode);
    }
    replace_file(folder / "g", "x");
    EXPECT_EQ(static_cast<mode_t>(std::filesystem::status(folder / "g").permissions()), 0600U);
    ::umask(umask_before);
}

TEST(Files, WriteToAClosedPipeIsFalse) {
    ::signal(SIGPIPE, SIG_IGN);
    auto pipe = Pipe::open();
    pipe.read_end.reset();
    EXPECT_FALSE(write_all(pipe.write_end.get(), "x"));
}

}  // namespace
}  // namespace dtrain
