// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what base/error_file.hpp promises. Whatever changes this process' environment is in a child of its
// own.
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/run_main.hpp>

#include "base/error_file.hpp"
#include "base/files.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ErrorFileTest : public testing::Test {
  protected:
    /// The pid of the child that ran `body` with this variable.
    template <class Body>
    static pid_t in_child(const char* variable, const std::filesystem::path& file, const Body& body) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::unsetenv(error_file_variable);
            ::unsetenv(torch_error_file_variable);
            ::setenv(variable, file.c_str(), 1);
            ::setenv("RANK", "3", 1);
            body();
            ::_exit(0);
        }
        int status = 0;
        EXPECT_EQ(::waitpid(pid, &status, 0), pid);
        EXPECT_EQ(status, 0);
        return pid;
    }

    std::size_t entries() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
    }

    tests::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "error.json";
};

TEST_F(ErrorFileTest, HasTheErrorWithRankHostPidAndTime) {
    const auto pid =
        in_child(error_file_variable, file_, [] { report_error({.kind = "a::B", .message = "no loss"}); });
    const auto [error, issue] = read_error_file(file_);
    ASSERT_TRUE(error) << issue;
    EXPECT_EQ(error->kind, "a::B");
    EXPECT_EQ(error->message, "no loss");
    EXPECT_EQ(error->rank, 3);
    EXPECT_EQ(error->pid, pid);
    EXPECT_FALSE(error->host.empty());
    EXPECT_GT(error->time_us, 1'700'000'000'000'000);
    struct stat info {};
    ASSERT_EQ(::stat(file_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    EXPECT_EQ(entries(), 1U) << "nothing else is left";
}

TEST_F(ErrorFileTest, IsTorchsWhereThereIsNoneOfDtrain) {
    in_child(torch_error_file_variable, file_, [] { report_error({.message = "no loss"}); });
    EXPECT_TRUE(read_error_file(file_).error);
}

TEST_F(ErrorFileTest, TheFirstErrorOfAProcessStaysAndAnotherProcessReplacesIt) {
    in_child(error_file_variable, file_, [] {
        report_error({.message = "the cause"});
        report_error({.message = "its consequence"});
    });
    EXPECT_EQ(read_error_file(file_).error.value().message, "the cause");
    in_child(error_file_variable, file_, [] { report_error({.message = "later"}); });
    EXPECT_EQ(read_error_file(file_).error.value().message, "later");
}

TEST_F(ErrorFileTest, HidesSecretsAndLineEnds) {
    in_child(error_file_variable, file_,
             [] { report_error({.message = "http://me:hunter2@example.org\nand more"}); });
    const auto text = read_file(file_).value_or("");
    EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
    EXPECT_EQ(read_error_file(file_).error.value().message.find('\n'), std::string::npos);
}

TEST_F(ErrorFileTest, WhatCannotBeWrittenIsNotThrown) {
    in_child(error_file_variable, folder_ / "no/such/folder/error.json",
             [] { report_error({.message = "no loss"}); });
    in_child("DTRAIN_NO_ERROR_FILE", file_, [] { report_error({.message = "no loss"}); });
    EXPECT_EQ(entries(), 0U);
}

TEST_F(ErrorFileTest, ALinkInItsPlaceIsReplacedAndNotFollowed) {
    const auto other = folder_ / "other";
    make_new_file(other);
    std::filesystem::create_symlink(other, file_);
    in_child(error_file_variable, file_, [] { report_error({.message = "no loss"}); });
    EXPECT_EQ(std::filesystem::file_size(other), 0U);
    EXPECT_TRUE(read_error_file(file_).error);
}

TEST_F(ErrorFileTest, SeveralProcessesLeaveAWholeFile) {
    in_child(error_file_variable, file_, [] {
        for (int child = 0; child < 8; ++child)
            if (::fork() == 0) {
                report_error({.message = std::string(1000, static_cast<char>('a' + child))});
                ::_exit(0);
            }
        while (::wait(nullptr) > 0) continue;
    });
    const auto [error, issue] = read_error_file(file_);
    ASSERT_TRUE(error) << issue;
    EXPECT_EQ(error->message, std::string(1000, error->message.front()));
    EXPECT_EQ(entries(), 1U);
}

TEST_F(ErrorFileTest, RunMainLeavesWhatItPrints) {
    const auto thrown = [](const auto& error) {
        return [&error] {
            FileDescriptor nowhere(::open("/dev/null", O_WRONLY));
            ::dup2(nowhere.get(), STDERR_FILENO);
            run_main("train", [&]() -> int { throw error; });
        };
    };
    in_child(error_file_variable, file_, thrown(UsageError("--epochs no is no number")));
    EXPECT_EQ(read_error_file(file_).error.value().kind, "dtrain::UsageError");
    EXPECT_EQ(read_error_file(file_).error.value().message, "--epochs no is no number");
    in_child(error_file_variable, file_, thrown(5));
    EXPECT_EQ(read_error_file(file_).error.value().message, "an exception that is no std::exception");
}

TEST_F(ErrorFileTest, NothingThereIsNoIssue) {
    EXPECT_EQ(read_error_file(file_).error, std::nullopt);
    EXPECT_THAT(read_error_file(file_).issue, IsEmpty());
}

TEST_F(ErrorFileTest, WhateverIsInItsPlaceIsNamed) {
    const auto issue = [&] {
        const auto content = read_error_file(file_);
        EXPECT_EQ(content.error, std::nullopt);
        std::filesystem::remove(file_);
        return content.issue;
    };
    ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
    EXPECT_THAT(issue(), HasSubstr("FIFO"));
    std::filesystem::create_directory(file_);
    EXPECT_THAT(issue(), HasSubstr("folder"));
    std::filesystem::create_symlink("/etc/passwd", file_);
    EXPECT_THAT(issue(), HasSubstr("symbolic link"));
    make_new_file(file_);
    std::filesystem::resize_file(file_, std::uintmax_t{1} << 40U);
    EXPECT_THAT(issue(), HasSubstr("bytes, more than"));
    replace_file(file_, "{\"message\": {\"mess");
    EXPECT_THAT(issue(), HasSubstr("neither dtrain's form nor that of torch's @record"));
}

}  // namespace
}  // namespace dtrain
