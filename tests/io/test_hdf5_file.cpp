// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what was written is what is read, whatever other threads do with HDF5 meanwhile; Debian's parallel
// HDF5 crashes when two threads are inside it.
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "io/hdf5_file.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::io {
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

}  // namespace
}  // namespace dtrain::io
