// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: Slurm's meaning of %j; that a lock lives as long as its holder.
#include <filesystem>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/log_folder.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::launch {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string expanded(const std::string& pattern, const std::string& job_id, const Environment& environment) {
    return expanded_log_dir({.log_dir = pattern, .job_id = job_id}, environment, "4711");
}

TEST(LogFolder, JobIdIsTheUsersElseTheSchedulersElseAnotherName) {
    const Environment slurm{{"SLURM_JOB_ID", "99"}};
    EXPECT_EQ(expanded("log/%j", "night", slurm), "log/night");
    EXPECT_EQ(expanded("log/%j", "default", slurm), "log/99");
    EXPECT_EQ(expanded("log/%j", "default", {{"PBS_JOBID", "7.head"}}), "log/7.head");
    EXPECT_EQ(expanded("log/%j", "default", {{"SLURM_JOB_ID", ""}}), "log/4711");
    EXPECT_EQ(expanded("%j-%j", "a", {}), "a-a");
}

TEST(LogFolder, OtherPercentSignsStay) {
    EXPECT_EQ(expanded("log", "a", {}), "log");
    EXPECT_EQ(expanded("100%", "a", {}), "100%");
    EXPECT_EQ(expanded("%d/%%j/%", "a", {}), "%d/%j/%");
}

class Folder : public testing::Test {
  protected:
    const tests::TemporaryFolder folder_;
    const std::string path_ = folder_.path().string();
};

TEST_F(Folder, IsMadeWithItsParents) {
    make_log_folder(path_ + "/a/b", LogFolders::own);
    EXPECT_TRUE(std::filesystem::is_directory(path_ + "/a/b"));
    EXPECT_THAT([&] { make_log_folder("/proc/no/log", LogFolders::own); },
                ThrowsMessage<UsageError>(HasSubstr("--log_dir /proc/no/log cannot be written")));
}

TEST_F(Folder, ASecondClaimSeesTheFirstWhileItLives) {
    {
        const LogFolderClaim first(path_, "pid 1, job night", LogFolders::own);
        EXPECT_EQ(first.other(), std::nullopt);
        EXPECT_EQ(LogFolderClaim(path_, "pid 2, job day", LogFolders::own).other(), "pid 1, job night");
        EXPECT_EQ(LogFolderClaim(path_, "pid 3, job day", LogFolders::own).other(), "pid 1, job night");
    }
    EXPECT_EQ(LogFolderClaim(path_, "pid 4, job day", LogFolders::own).other(), std::nullopt);
}

TEST_F(Folder, ThatAllMayChangeIsRefusedUnlessItIsTrusted) {
    ASSERT_EQ(::chmod(path_.c_str(), 0777), 0);
    EXPECT_THAT([&] { make_log_folder(path_, LogFolders::own); },
                ThrowsMessage<UsageError>(HasSubstr("--log_dir " + path_ + " has mode 0777")));
    make_log_folder(path_, LogFolders::any);
}

TEST_F(Folder, AClaimIsWrittenIntoNoOtherFile) {
    tests::write_bytes(folder_ / "target", "mine");
    std::filesystem::create_symlink(folder_ / "target", folder_ / ".dtrain.lock");
    EXPECT_THAT([&] { LogFolderClaim(path_, "pid 1", LogFolders::any); },
                ThrowsMessage<UsageError>(HasSubstr(".dtrain.lock: it is a link")));
    EXPECT_EQ(tests::bytes_of(folder_ / "target"), "mine");
}

TEST_F(Folder, ThatCannotBeClaimedIsNobodys) {
    EXPECT_EQ(LogFolderClaim(path_ + "/none", "pid 1", LogFolders::own).other(), std::nullopt);
}

}  // namespace
}  // namespace dtrain::launch
