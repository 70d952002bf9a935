// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: stat(2) for what a file has; the kernel's limit of a file's size for a disk without room.
#include <cerrno>
#include <sys/stat.h>
#include <system_error>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/reserve_space.hpp"
#include "support/small_files.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

class ReserveSpace : public testing::Test {
  protected:
    ReserveSpace() { tests::write_bytes(file_, "abc"); }

    struct stat status() const {
        struct stat out {};
        ::stat(file_.c_str(), &out);
        return out;
    }

    tests::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "file";
};

TEST_F(ReserveSpace, MakesRoomBehindWhatIsThere) {
    if (!reserve_space(file_, 100'000)) GTEST_SKIP() << "the file system of " << file_ << " reserves nothing";
    EXPECT_EQ(status().st_size, 100'000);
    EXPECT_GE(status().st_blocks * 512, 100'000);
    EXPECT_EQ(tests::bytes_of(file_).substr(0, 4), std::string("abc\0", 4));
}

TEST_F(ReserveSpace, LeavesALongerFileAsItIs) {
    EXPECT_TRUE(reserve_space(file_, 0));
    EXPECT_EQ(tests::bytes_of(file_), "abc");
}

TEST_F(ReserveSpace, SaysWhyThereIsNoRoom) {
    const tests::SmallFiles limit(1000);
    try {
        if (!reserve_space(file_, 100'000)) GTEST_SKIP() << "the file system reserves nothing";
        FAIL() << "there was room";
    } catch (const std::system_error& refused) {
        EXPECT_EQ(refused.code().value(), EFBIG);
    }
    EXPECT_EQ(status().st_size, 3);
}

TEST_F(ReserveSpace, RefusesAFileThatIsNotThere) {
    EXPECT_THROW(reserve_space(folder_ / "none", 1), std::system_error);
}

}  // namespace
}  // namespace dtrain
