// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: open(2) and rename(2), and what a reader may see of a file that is replaced. The calls of the C
// library are those of tests/support/faulty_calls.cpp, which this program is linked with: the file system
// loses replies, or somebody else does something just before a call.
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/claimed_folder.hpp"
#include "base/files.hpp"
#include "base/move_name.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using tests::bytes_of;
using tests::write_bytes;

/// As long as it lives, calls below the folder have the fault.
class Fault {
  public:
    Fault(const char* name, const tests::TemporaryFolder& folder) : name_(name) {
        ::setenv(name_, folder.path().c_str(), 1);
    }
    Fault(const Fault&) = delete;
    Fault& operator=(const Fault&) = delete;
    ~Fault() { ::unsetenv(name_); }

  private:
    const char* name_;
};

/// Whether a process was killed before its call of this number below the folder, as it did something there.
bool dies_at(int call, const tests::TemporaryFolder& parent, const std::function<void()>& something) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::setenv("FAULTY_DEATH", fmt::format("{}:{}/", call, parent.path().string()).c_str(), 1);
        something();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status);
}

void remove_all_in(const tests::TemporaryFolder& parent) {
    for (const auto& left : std::filesystem::directory_iterator(parent.path()))
        EXPECT_TRUE(remove_if_abandoned(left.path(), "mark")) << left;
}

int entries(const tests::TemporaryFolder& folder) {
    return static_cast<int>(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

/// Expects that something can be done below the folder with a kill before each of its calls in turn, and that
/// what is left then is found and removed.
/// @param before done each time, without a kill
void expect_that_nothing_stays(const tests::TemporaryFolder& parent, const std::function<void()>& before,
                               const std::function<void()>& something) {
    int call = 1;
    for (before(); dies_at(call, parent, something); ++call, before()) {
        remove_all_in(parent);
        EXPECT_EQ(entries(parent), 0) << "killed at call " << call;
    }
    EXPECT_GT(call, 5);
    EXPECT_EQ(entries(parent), 0);
}

TEST(FaultyFiles, ARenameWhoseReplyIsLostIsDone) {
    const tests::TemporaryFolder folder;
    write_bytes(folder / "new", "new");
    write_bytes(folder / "old", "old");
    const Fault fault("FAULTY_RENAMES", folder);
    EXPECT_TRUE(move_name(folder / "new", folder / "old"));
    EXPECT_EQ(bytes_of(folder / "old"), "new");
    replace_file(folder / "old", "newer");
    EXPECT_EQ(bytes_of(folder / "old"), "newer");
    EXPECT_EQ(entries(folder), 1);
}

TEST(FaultyFiles, AFileThatSomebodyRemovedIsNotMoved) {
    const tests::TemporaryFolder folder;
    write_bytes(folder / "new", "new");
    write_bytes(folder / "old", "old");
    const Fault fault("FAULTY_REMOVALS", folder);
    EXPECT_FALSE(move_name(folder / "new", folder / "old"));
    EXPECT_EQ(errno, ENOENT);
    EXPECT_THROW(replace_file(folder / "old", "newer"), std::system_error);
    EXPECT_EQ(bytes_of(folder / "old"), "old");
    EXPECT_EQ(entries(folder), 1);
}

TEST(FaultyFiles, NothingIsWrittenThroughALinkThatSomebodyMadeInTime) {
    const tests::TemporaryFolder folder;
    write_bytes(folder / "target", "theirs");
    const Fault fault("FAULTY_LINKS", folder);
    EXPECT_THROW(replace_file(folder / "f", "mine"), std::system_error);
    EXPECT_THROW(replace_file_without_sync(folder / "f", "mine", 0600), std::system_error);
    EXPECT_THROW(make_new_file(folder / "g"), std::system_error);
    EXPECT_EQ(bytes_of(folder / "target"), "theirs");
    EXPECT_FALSE(std::filesystem::exists(folder / "f"));
}

TEST(FaultyFiles, NothingStaysOfAClaimedFolderWhereverItsProcessIsKilled) {
    const tests::TemporaryFolder parent;
    const auto make_and_remove = [&] {
        const ClaimedFolder folder(parent.path(), "of.", "mark");
        write_bytes(std::filesystem::path(folder.path()) / "file", "");
    };
    expect_that_nothing_stays(
        parent, [] {}, make_and_remove);
}

TEST(FaultyFiles, NothingStaysOfAnAbandonedFolderWhereverTheProcessThatRemovesItIsKilled) {
    const tests::TemporaryFolder parent;
    const auto abandon_one = [&] {
        for (const char* file : {"mark", "a", "b"}) {
            std::filesystem::create_directory(parent / "of.abcdef");
            write_bytes(parent / "of.abcdef" / file, "");
        }
    };
    expect_that_nothing_stays(parent, abandon_one, [&] { remove_all_in(parent); });
}

// A launcher that ends removes what a worker is removing.
TEST(FaultyFiles, AnAbandonedFolderGoesWhileOthersRemoveItToo) {
    const tests::TemporaryFolder parent;
    const auto abandoned = parent / "of.unclaimed.abcdef";
    std::filesystem::create_directory(abandoned);
    for (const char* file : {"a", "b", "c"}) write_bytes(abandoned / file, "");
    const Fault fault("FAULTY_REMOVALS", parent);
    EXPECT_TRUE(remove_if_abandoned(abandoned, "mark"));
    EXPECT_EQ(entries(parent), 0);
}

}  // namespace
}  // namespace dtrain
