// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: files in the formats of the kernel's documentation (admin-guide/cgroup-v1/memory, cgroup-v2), made
// by hand, and what the kernel does with them: a cgroup is held to its own limit and to each one above it.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cgroup.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::ElementsAre;

class CgroupTest : public testing::Test {
  protected:
    void write(const std::string& file, const std::string& content) const {
        std::filesystem::create_directories((folder_ / file).parent_path());
        tests::write_bytes(folder_ / file, content);
    }
    Cgroup rank() const { return {.folder = folder_ / "job/rank", .root = folder_.path()}; }

    tests::TemporaryFolder folder_;
};

TEST_F(CgroupTest, HasTheNamesOfTheKernel) {
    EXPECT_EQ(rank().name(), "/job/rank");
    EXPECT_EQ((Cgroup{.folder = folder_.path(), .root = folder_.path()}.name()), "/");
    EXPECT_THAT(rank().up_to_root(), ElementsAre(folder_ / "job/rank", folder_ / "job", folder_.path()));
}

TEST_F(CgroupTest, TheLowestOfAllLimitsHolds) {
    EXPECT_EQ(lowest_limit(rank(), "pids.max"), std::nullopt);
    write("job/rank/pids.max", "max\n");
    EXPECT_EQ(lowest_limit(rank(), "pids.max"), std::nullopt);
    write("job/pids.max", "64\n");
    EXPECT_EQ(lowest_limit(rank(), "pids.max"), 64);
    write("job/rank/pids.max", "100\n");
    EXPECT_EQ(lowest_limit(rank(), "pids.max"), 64);
    write("job/rank/pids.max", "10\n");
    EXPECT_EQ(lowest_limit(rank(), "pids.max"), 10);
    write("pids.max", "3\n");
    EXPECT_EQ(lowest_limit(rank(), "pids.max"), 3);
}

TEST_F(CgroupTest, AHugeNumberIsNoLimit) {
    write("job/rank/memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_EQ(lowest_limit(rank(), "memory.limit_in_bytes"), std::nullopt);
}

TEST_F(CgroupTest, KnowsWhichAreFrozen) {
    write("freezer/box/rank/freezer.state", "THAWED\n");
    EXPECT_EQ(frozen_cgroup(folder_.path(), "3:freezer:/box/rank\n0::/\n"), std::nullopt);
    write("freezer/box/rank/freezer.state", "FREEZING\n");
    EXPECT_EQ(frozen_cgroup(folder_.path(), "3:freezer:/box/rank\n"), std::nullopt) << "it runs";
    write("freezer/box/rank/freezer.state", "FROZEN\n");
    EXPECT_EQ(frozen_cgroup(folder_.path(), "3:freezer:/box/rank\n0::/\n"), "/box/rank");
    write("box/rank/cgroup.events", "populated 1\nfrozen 0\n");
    EXPECT_EQ(frozen_cgroup(folder_.path(), "0::/box/rank\n"), std::nullopt);
    write("box/rank/cgroup.events", "populated 1\nfrozen 1\n");
    EXPECT_EQ(frozen_cgroup(folder_.path(), "0::/box/rank\n"), "/box/rank");
    EXPECT_EQ(frozen_cgroup(folder_.path(), "0::/\n"), std::nullopt);
}

}  // namespace
}  // namespace dtrain
