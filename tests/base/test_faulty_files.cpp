// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: open(2) and rename(2), and what a reader may see of a file that is replaced. The calls of the C
// library are those of tests/support/faulty_calls.cpp, which this program is linked with: the file system
// loses replies, or somebody else does something just before a call.
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

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

int entries(const tests::TemporaryFolder& folder) {
    return static_cast<int>(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
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

}  // namespace
}  // namespace dtrain
