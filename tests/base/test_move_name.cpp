// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: rename(2), and the kernel's errno. test_faulty_files.cpp has a file system that loses replies.
#include <cerrno>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/move_name.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

class MoveName : public ::testing::Test {
  protected:
    std::filesystem::path write(const std::string& name, const std::string& content) {
        std::ofstream(folder_.path() / name) << content;
        return folder_.path() / name;
    }
    tests::TemporaryFolder folder_;
};

TEST_F(MoveName, TakesTheOthersPlace) {
    const auto from = write("new", "new");
    const auto to = write("old", "old");
    EXPECT_TRUE(move_name(from, to));
    EXPECT_FALSE(std::filesystem::exists(from));
    EXPECT_EQ(read_file(to), "new");
}

TEST_F(MoveName, WithinAnOpenFolder) {
    write("new", "new");
    const FileDescriptor open(::open(folder_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    EXPECT_TRUE(move_name("new", "old", open.get()));
    EXPECT_EQ(read_file(folder_.path() / "old"), "new");
}

TEST_F(MoveName, WhatIsNotThereIsNotMoved) {
    const auto to = write("old", "old");
    EXPECT_FALSE(move_name(folder_.path() / "new", to));
    EXPECT_EQ(errno, ENOENT);
    EXPECT_EQ(read_file(to), "old");
}

TEST_F(MoveName, AFolderThatIsNotThereStaysAnError) {
    const auto from = write("new", "new");
    EXPECT_FALSE(move_name(from, folder_.path() / "nowhere/old"));
    EXPECT_EQ(errno, ENOENT);
    EXPECT_EQ(read_file(from), "new");
}

}  // namespace
}  // namespace dtrain
