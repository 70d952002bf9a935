// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: files in the formats of the kernel's documentation (admin-guide/cgroup-v1/pids, cgroup-v2), made by
// hand.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/pids_watch.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

class PidsWatchTest : public testing::Test {
  protected:
    void write(const std::filesystem::path& file, const std::string& content) const {
        std::filesystem::create_directories((folder_.path() / file).parent_path());
        std::ofstream(folder_.path() / file) << content;
    }
    PidsSources sources() const {
        return {.cgroups = folder_.path() / "cgroup", .membership = folder_.path() / "membership"};
    }

    tests::TemporaryFolder folder_;
};

TEST_F(PidsWatchTest, Version2CountsOnlyWhatIsNew) {
    write("membership", "0::/slurm/job_7\n");
    write("cgroup/slurm/job_7/pids.events", "max 9\n");
    write("cgroup/slurm/job_7/pids.max", "max\n");
    write("cgroup/slurm/pids.max", "64\n");
    const PidsWatch watch(sources());
    EXPECT_EQ(watch.reached_since(), std::nullopt);
    write("cgroup/slurm/job_7/pids.events", "max 12\n");
    EXPECT_EQ(watch.reached_since(),
              "the limit of processes and threads of cgroup /slurm/job_7 (pids.max 64) was reached 3 times");
}

TEST_F(PidsWatchTest, Version1MayCountWhereTheLimitIs) {
    write("membership", "8:pids:/job/rank\n0::/\n");
    write("cgroup/pids/job/rank/pids.events", "max 0\n");
    write("cgroup/pids/job/pids.events", "max 0\n");
    const PidsWatch watch(sources());
    write("cgroup/pids/job/pids.events", "max 1\n");
    EXPECT_EQ(watch.reached_since(),
              "the limit of processes and threads of cgroup /job/rank was reached 1 time");
}

TEST_F(PidsWatchTest, WhereNobodyCountsNothingIsSaid) {
    EXPECT_EQ(PidsWatch(sources()).reached_since(), std::nullopt);
    write("membership", "0::/\n");
    EXPECT_EQ(PidsWatch(sources()).reached_since(), std::nullopt);
}

}  // namespace
}  // namespace dtrain
