// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what was written is what is read, whatever other threads do with HDF5 meanwhile; Debian's parallel
// HDF5 crashes when two threads are inside it. What HDF5 does at the end of a process is seen in a file that
// is still open: it is whole only when HDF5 closed it.
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "storage/hdf5_file.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::storage {
namespace {

TEST(Hdf5File, ThreadsTakeTurns) {
    constexpr int rounds = 2000;
    const tests::TemporaryFolder folder;
    const std::vector<std::int64_t> shape{100, 3};
    std::vector<float> values(300);
    std::iota(values.begin(), values.end(), 0.0F);
    {
        auto file = Hdf5File::create(folder.path() / "read.h5");
        file.write<float>("x", shape, values);
        file.close();
    }
    std::thread writer([&] {
        auto file = Hdf5File::create(folder.path() / "written.h5");
        for (int i = 0; i < rounds; ++i) {
            file.write_text("/", "text " + std::to_string(i), "some words");
            file.write_integer("/", "number " + std::to_string(i), i);
        }
        file.close();
    });
    const auto file = Hdf5File::open(folder.path() / "read.h5");
    for (int i = 0; i < rounds; ++i) {
        std::vector<float> rows(6);
        file.read_rows("x", i % 99, 2, rows);
        EXPECT_EQ(rows[5], values[static_cast<std::size_t>(i % 99 * 3 + 5)]);
    }
    writer.join();
    const auto written = Hdf5File::open(folder.path() / "written.h5");
    EXPECT_EQ(written.read_text("/", "text 7"), "some words");
    EXPECT_EQ(written.read_integer("/", "number 1999"), 1999);
}

[[noreturn]] void end_with_an_open_file(const std::filesystem::path& path, bool leaves_it) {
    if (leaves_it) leave_hdf5_at_exit();
    auto file = Hdf5File::create(path);
    file.write_integer("/", "number", 7);
    std::exit(3);
}

/// A process of its own, in which nothing has used HDF5 before, leaves the file open.
void leave_open(const std::filesystem::path& path, bool leaves_it) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // That process runs the test from its start, with another folder: it is told of the file by its
    // environment.
    ::setenv("DTRAIN_TESTS_FILE", path.c_str(), 0);
    EXPECT_EXIT(
        {
            std::filesystem::remove_all(path.parent_path());  // of that process
            end_with_an_open_file(::getenv("DTRAIN_TESTS_FILE"), leaves_it);
        },
        testing::ExitedWithCode(3), "^$");
    ::unsetenv("DTRAIN_TESTS_FILE");
}

TEST(Hdf5File, Hdf5ClosesFilesAtExit) {
    const tests::TemporaryFolder folder;
    leave_open(folder.path() / "file.h5", false);
    EXPECT_EQ(Hdf5File::open(folder.path() / "file.h5").read_integer("/", "number"), 7);
}

TEST(Hdf5File, NothingOfHdf5RunsAtExitWhenToldSo) {
    const tests::TemporaryFolder folder;
    leave_open(folder.path() / "file.h5", true);
    ASSERT_TRUE(std::filesystem::exists(folder.path() / "file.h5"));
    EXPECT_THROW(Hdf5File::open(folder.path() / "file.h5"), UsageError);
}

}  // namespace
}  // namespace dtrain::storage
