// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a child process that ends without its destructors, as one that is killed; the longest name of a
// socket in <sys/un.h>.
#include <csignal>
#include <filesystem>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/process_handle.hpp"
#include "base/subprocess.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A folder whose owner has ended without removing it.
void leave_a_folder_in(const fs::path& parent) {
    const pid_t child = ::fork();
    if (child == 0) {
        const auto* folder = new TemporaryFolder(parent);
        fs::create_directory(fs::path(folder->path()) / "session");
        ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
}

TEST(TemporaryFolders, OfDeadProcessesAreRemovedAndThoseOfLivingOnesStay) {
    const tests::TemporaryFolder parent;
    const TemporaryFolder living(parent.path());
    fs::create_directory(parent / "dtrain.older");  // of a dtrain that made no claim
    fs::create_directory(parent / "other");
    leave_a_folder_in(parent.path());
    leave_a_folder_in(parent.path());
    ASSERT_EQ(std::distance(fs::directory_iterator(parent.path()), {}), 5);
    EXPECT_EQ(remove_abandoned_folders(parent.path()), 2);
    EXPECT_EQ(remove_abandoned_folders(parent.path()), 0);
    EXPECT_TRUE(fs::exists(living.path()));
    EXPECT_TRUE(fs::exists(parent / "dtrain.older"));
    EXPECT_EQ(std::distance(fs::directory_iterator(parent.path()), {}), 3);
}

TEST(TemporaryFolders, StayAsLongAsAProcessThatInheritedTheClaim) {
    const tests::TemporaryFolder parent, notes;
    const pid_t owner = ::fork();
    if (owner == 0) {
        const auto* folder = new TemporaryFolder(parent.path());
        const auto* heir = new Subprocess({.argv = {"sleep", "1000"}, .inherited = folder->claim()});
        tests::write_bytes(notes / "heir", std::to_string(heir->pid()));
        ::_exit(0);
    }
    ::waitpid(owner, nullptr, 0);
    EXPECT_EQ(remove_abandoned_folders(parent.path()), 0);
    const auto heir = parse_int(tests::bytes_of(notes / "heir"));
    ASSERT_TRUE(heir);
    const auto ended = process_handle(*heir);
    ::kill(*heir, SIGKILL);
    pollfd end{ended.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&end, 1, 10'000), 1);
    EXPECT_EQ(remove_abandoned_folders(parent.path()), 1);
}

TEST(TemporaryFolders, LinksAreNotFollowed) {
    const tests::TemporaryFolder parent, other;
    leave_a_folder_in(other.path());
    const auto left = fs::directory_iterator(other.path())->path();
    fs::create_directory_symlink(left, parent / "dtrain.link");
    EXPECT_EQ(remove_abandoned_folders(parent.path()), 0);
    EXPECT_TRUE(fs::exists(left / "session"));
}

TEST(TemporaryDirectory, IsTheFirstThatIsNamed) {
    const tests::TemporaryFolder folder;
    const auto path = folder.path().string();
    EXPECT_EQ(temporary_directory({}), "/tmp");
    EXPECT_EQ(temporary_directory({{"TMPDIR", ""}}), "/tmp");
    EXPECT_EQ(temporary_directory({{"TMPDIR", path}, {"TMP", "/no"}}), path);
    EXPECT_EQ(temporary_directory({{"TEMP", path}}), path);
}

TEST(TemporaryDirectory, ThatCannotBeUsedIsNamedWithItsVariable) {
    const tests::TemporaryFolder folder;
    const auto refused = [](const std::string& value, const std::string& reason) {
        EXPECT_THAT(
            [&] {
                temporary_directory({{"TMPDIR", value}});
            },
            ThrowsMessage<UsageError>(AllOf(HasSubstr("TMPDIR=" + value), HasSubstr(reason))));
    };
    refused("/no/such/place", "No such file or directory");
    tests::write_bytes(folder / "file", "");
    refused((folder / "file").string(), "Not a directory");
    const auto base = folder.path().string();
    const auto max = base + "/" + std::string(85 - base.size() - 1, 'x');
    fs::create_directory(max);
    EXPECT_EQ(temporary_directory({{"TMPDIR", max}}), max);
    fs::create_directory(max + "x");
    refused(max + "x", "at most 85");
}

}  // namespace
}  // namespace dtrain
