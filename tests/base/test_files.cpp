// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what POSIX says a reader may see.
#include <csignal>
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files.hpp"

namespace dtrain {
namespace {

TEST(Files, ReplaceLeavesNothingBehind) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("dtrain_files." + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    replace_file(folder / "f", "one");
    replace_file(folder / "f", "two");
    EXPECT_EQ(read_file(folder / "f"), "two");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
    EXPECT_THROW(replace_file(folder / "no" / "f", "x"), std::system_error);
    EXPECT_EQ(read_file(folder / "missing"), std::nullopt);
    std::filesystem::remove_all(folder);
}

TEST(Files, WriteToAClosedPipeIsFalse) {
    ::signal(SIGPIPE, SIG_IGN);
    auto pipe = Pipe::open();
    pipe.read_end.reset();
    EXPECT_FALSE(write_all(pipe.write_end.get(), "x"));
}

}  // namespace
}  // namespace dtrain
