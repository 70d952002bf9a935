// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the bytes that are put into real files.
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/log_files.hpp"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

class LogFiles : public testing::Test {
  protected:
    LogFiles() {
        auto pattern = (fs::temp_directory_path() / "log_files.XXXXXX").string();
        log_ = fs::path(::mkdtemp(pattern.data())) / "workerlog.0";
    }
    ~LogFiles() override { fs::remove_all(log_.parent_path()); }

    fs::path log_;
};

TEST_F(LogFiles, TheTailIsOfThisRunAndNotTooLong) {
    EXPECT_EQ(size_or_zero(log_), 0U);
    EXPECT_EQ(tail_of(log_, 0), "");
    replace_file(log_, "before\nnow\n");
    EXPECT_EQ(size_or_zero(log_), 11U);
    EXPECT_EQ(tail_of(log_, 7), "now\n");
    EXPECT_EQ(tail_of(log_, 11), "");
    EXPECT_EQ(tail_of(log_, 99), "") << "somebody may have cut the log short";
    replace_file(log_, std::string(100'000, 'a') + "end");
    EXPECT_EQ(tail_of(log_, 7), std::string(64 * 1024 - 3, 'a') + "end");
}

TEST_F(LogFiles, ALineIsAppendedAsALine) {
    replace_file(log_, "whole\n");
    append_line(log_, "last words");
    EXPECT_EQ(read_file(log_), "whole\nlast words\n");
    replace_file(log_, "torn");
    append_line(log_, "last words");
    EXPECT_EQ(read_file(log_), "torn\nlast words\n");
    replace_file(log_, "");
    append_line(log_, "last words");
    EXPECT_EQ(read_file(log_), "last words\n");
}

TEST_F(LogFiles, ALogOfAnotherMachineIsNotMade) {
    append_line(log_, "last words");
    EXPECT_FALSE(fs::exists(log_));
    append_line(log_.parent_path(), "a folder stays one");
    append_line("/dev/null", "no log at all");
}

}  // namespace
}  // namespace dtrain
