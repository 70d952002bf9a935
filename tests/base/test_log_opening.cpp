// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: who can change names in a folder, by POSIX: its owner, and all whom its mode lets write, each only
// their own with the sticky bit.
#include <cerrno>
#include <filesystem>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log_opening.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;

constexpr uid_t user = 1000, stranger = 1001, root = 0;

TEST(LogFolderTrust, IsInTheUserAndRoot) {
    for (const uid_t owner : {user, root})
        for (const mode_t mode : {0700, 0755, 0775, 02775, 01777})
            EXPECT_EQ(distrust_of_folder({.owner = owner, .mode = S_IFDIR | mode}, user), std::nullopt)
                << mode;
    for (const mode_t mode : {0700, 01777})
        EXPECT_THAT(*distrust_of_folder({.owner = stranger, .mode = S_IFDIR | mode}, user),
                    HasSubstr("user 1001"));
    EXPECT_THAT(*distrust_of_folder({.owner = stranger, .mode = S_IFDIR | 0700}, root),
                HasSubstr("user 1001"));
    EXPECT_THAT(*distrust_of_folder({.owner = user, .mode = S_IFDIR | 0777}, user), HasSubstr("mode 0777"));
    EXPECT_THAT(*distrust_of_folder({.owner = root, .mode = S_IFDIR | 0702}, user), HasSubstr("mode 0702"));
}

TEST(LogFileTrust, DependsOnWhoMayHavePutItThere) {
    const Ownership own{.owner = user, .mode = S_IFREG | 0600},
        other{.owner = stranger, .mode = S_IFREG | 0666};
    const Ownership closed{.owner = user, .mode = S_IFDIR | 0755},
        of_group{.owner = user, .mode = S_IFDIR | 0775}, of_all{.owner = root, .mode = S_IFDIR | 01777};
    for (const auto& folder : {closed, of_group, of_all})
        EXPECT_EQ(distrust_of_file(own, 1, folder, user), std::nullopt);
    EXPECT_EQ(distrust_of_file(own, 2, closed, user), std::nullopt) << "a copy of a backup, say";
    EXPECT_EQ(distrust_of_file(other, 1, closed, user), std::nullopt);
    EXPECT_EQ(distrust_of_file(other, 1, of_group, user), std::nullopt) << "a folder that a project shares";
    EXPECT_THAT(*distrust_of_file(other, 1, of_all, user), HasSubstr("user 1001"));
    for (const auto& folder : {of_group, of_all})
        EXPECT_THAT(*distrust_of_file(own, 2, folder, user), HasSubstr("hard link"));
}

class LogOpening : public testing::Test {
  protected:
    LogOpening() { tests::write_bytes(target_, "secret"); }

    const tests::TemporaryFolder folder_;
    const fs::path target_ = folder_ / "target";
    const fs::path log_ = folder_ / "workerlog.0";
};

TEST_F(LogOpening, AppendsAndReads) {
    ASSERT_TRUE(write_all(open_log_file(log_, 0600, LogFolders::own).file.get(), "one\n"));
    const auto opened = open_log_file(log_, 0600, LogFolders::own);
    ASSERT_TRUE(write_all(opened.file.get(), "two\n"));
    EXPECT_EQ(tests::bytes_of(log_), "one\ntwo\n");
    char letter = 0;
    EXPECT_EQ(read_at(opened.file.get(), &letter, 1, 0), 1U);
}

TEST_F(LogOpening, OfLinksOnlyOneToNowhereIsFollowed) {
    for (const auto& target : {target_, folder_ / "none"}) {
        fs::remove(log_);
        fs::create_symlink(target, log_);
        for (const auto folders : {LogFolders::own, LogFolders::any}) {
            const auto opened = open_log_file(log_, 0600, folders);
            EXPECT_FALSE(opened.file.valid());
            EXPECT_EQ(opened.error, ELOOP);
            EXPECT_THAT(opened.why, HasSubstr("is a link"));
        }
    }
    EXPECT_EQ(tests::bytes_of(target_), "secret");
    EXPECT_FALSE(fs::exists(folder_ / "none"));
    fs::remove(log_);
    fs::create_symlink("/dev/null", log_);
    EXPECT_TRUE(open_log_file(log_, 0600, LogFolders::own).file.valid());
}

TEST_F(LogOpening, AFolderThatAllMayChangeIsRefusedUnlessItIsTrusted) {
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
    const auto opened = open_log_file(log_, 0600, LogFolders::own);
    EXPECT_EQ(opened.error, EPERM);
    EXPECT_THAT(opened.why, HasSubstr("has mode 0777"));
    EXPECT_THAT(opened.why, HasSubstr("--trust-log-dir"));
    EXPECT_THAT(*why_no_log_folder(folder_.path() / "", LogFolders::own), HasSubstr("has mode 0777"));
    EXPECT_FALSE(fs::exists(log_));
    EXPECT_EQ(why_no_log_folder(folder_.path(), LogFolders::any), std::nullopt);
    EXPECT_TRUE(open_log_file(log_, 0600, LogFolders::any).file.valid());
    ASSERT_EQ(::chmod(folder_.path().c_str(), 01777), 0);
    EXPECT_EQ(why_no_log_folder(folder_.path(), LogFolders::own), std::nullopt);
    EXPECT_TRUE(open_log_file(log_, 0600, LogFolders::own).file.valid());
}

TEST_F(LogOpening, AHardLinkThatOthersMayHaveMadeIsRefused) {
    fs::create_hard_link(target_, log_);
    EXPECT_TRUE(open_log_file(log_, 0600, LogFolders::own).file.valid());
    ASSERT_EQ(::chmod(folder_.path().c_str(), 01777), 0);
    const auto opened = open_log_file(log_, 0600, LogFolders::own);
    EXPECT_EQ(opened.error, EPERM);
    EXPECT_THAT(opened.why, HasSubstr("hard link"));
}

TEST_F(LogOpening, AnOwnLinkMayLeadToAFolder) {
    fs::create_directory(folder_ / "scratch");
    fs::create_directory_symlink(folder_ / "scratch", folder_ / "log");
    EXPECT_TRUE(open_log_file(folder_ / "log/workerlog.0", 0600, LogFolders::own).file.valid());
    EXPECT_TRUE(fs::exists(folder_ / "scratch/workerlog.0"));
}

TEST_F(LogOpening, NoFolderIsMadeForAllToWrite) {
    const auto umask_before = ::umask(0);
    EXPECT_FALSE(make_log_folders(folder_ / "a/b/log"));
    EXPECT_FALSE(make_log_folders(folder_ / "a/b/log/"));
    ::umask(umask_before);
    EXPECT_EQ(why_no_log_folder(folder_ / "a/b/log", LogFolders::own), std::nullopt);
    EXPECT_EQ(why_no_log_folder(folder_ / "a", LogFolders::own), std::nullopt);
    EXPECT_EQ(make_log_folders(target_ / "log"), std::errc::not_a_directory);
    EXPECT_EQ(make_log_folders("/proc/no/log"), std::errc::no_such_file_or_directory);
}

TEST_F(LogOpening, WhatIsNoFolderIsNamed) {
    EXPECT_EQ(open_log_file(folder_ / "no/workerlog.0", 0600, LogFolders::own).error, ENOENT);
    EXPECT_THAT(*why_no_log_folder(target_, LogFolders::own),
                HasSubstr("target cannot be opened: Not a directory"));
}

TEST_F(LogOpening, AFileThatTheUserNamesMayBeAnOwnLink) {
    fs::create_symlink(target_, log_);
    ASSERT_TRUE(write_all(open_to_append(log_, 0600).get(), " and more"));
    EXPECT_EQ(tests::bytes_of(target_), "secret and more");
    ASSERT_TRUE(write_all(open_to_append(folder_ / "rows", 0600).get(), "1"));
    EXPECT_EQ(tests::bytes_of(folder_ / "rows"), "1");
    EXPECT_FALSE(open_to_append(folder_ / "no/rows", 0600).valid());
}

}  // namespace
}  // namespace dtrain
