// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: files in the formats of the kernel's documentation (admin-guide/cgroup-v1/memory, cgroup-v2), made
// by hand.
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/oom_watch.hpp"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

class OomWatchTest : public testing::Test {
  protected:
    OomWatchTest() {
        auto pattern = (fs::temp_directory_path() / "oom_watch.XXXXXX").string();
        root_ = ::mkdtemp(pattern.data());
    }
    ~OomWatchTest() override { fs::remove_all(root_); }

    void write(const fs::path& file, const std::string& content) const {
        fs::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << content;
    }
    OomSources sources() const {
        return {.cgroups = root_ / "cgroup", .membership = root_ / "membership", .machine = root_ / "vmstat"};
    }

    fs::path root_;
};

TEST_F(OomWatchTest, Version2CountsOnlyWhatIsNew) {
    write("membership", "0::/slurm/job_7\n");
    write("cgroup/slurm/job_7/memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 3\noom_group_kill 0\n");
    write("cgroup/slurm/job_7/memory.max", "max\n");
    write("cgroup/slurm/memory.max", "268435456\n");
    const OomWatch watch(sources());
    EXPECT_EQ(watch.kills_since(), OomKills{});
    write("cgroup/slurm/job_7/memory.events", "low 0\nhigh 0\nmax 9\noom 5\noom_kill 4\noom_group_kill 0\n");
    const OomKills expected{.count = 1, .cgroup = "/slurm/job_7", .limit = 268435456};
    EXPECT_EQ(watch.kills_since(), expected);
    EXPECT_EQ(expected.to_sentence(),
              "the kernel's OOM killer ended 1 process of memory cgroup /slurm/job_7 (limit 256 MiB)");
}

TEST_F(OomWatchTest, Version1AddsTheCgroupsBelow) {
    write("membership", "5:cpu:/x\n4:memory:/job\n0::/other\n");
    write("cgroup/memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    write("cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    write("cgroup/memory/job/rank/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
    const OomWatch watch(sources());
    EXPECT_EQ(watch.kills_since(), OomKills{});
    write("cgroup/memory/job/rank/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    const OomKills expected{.count = 2, .cgroup = "/job"};
    EXPECT_EQ(watch.kills_since(), expected) << "a limit that is none must not be told";
    EXPECT_EQ(expected.to_sentence(), "the kernel's OOM killer ended 2 processes of memory cgroup /job");
}

TEST_F(OomWatchTest, AContainerMayNotSeeItsOwnPath) {
    write("membership", "4:memory:/docker/0123\n");
    write("cgroup/memory/memory.oom_control", "oom_kill 7\n");
    write("cgroup/memory/memory.limit_in_bytes", "1048576\n");
    const OomWatch watch(sources());
    write("cgroup/memory/memory.oom_control", "oom_kill 8\n");
    EXPECT_EQ(watch.kills_since(), (OomKills{.count = 1, .cgroup = "/", .limit = 1048576}));
}

TEST_F(OomWatchTest, TheMachinesCounterIsTheSecondWord) {
    write("membership", "0::/\n");
    write("vmstat", "nr_free_pages 4\noom_kill 10\n");
    const OomWatch watch(sources());
    EXPECT_EQ(watch.kills_since(), OomKills{});
    write("vmstat", "nr_free_pages 4\noom_kill 11\n");
    EXPECT_EQ(watch.kills_since(), OomKills{.count = 1});
    EXPECT_EQ(watch.kills_since()->to_sentence(),
              "the kernel's OOM killer ended 1 process on this machine meanwhile");
}

TEST_F(OomWatchTest, WhatTheOwnCgroupDidNotCountIsOutside) {
    write("membership", "0::/job\n");
    write("cgroup/job/memory.events", "oom_kill 3\n");
    write("vmstat", "oom_kill 10\n");
    const OomWatch watch(sources());
    write("vmstat", "oom_kill 12\n");
    EXPECT_EQ(watch.kills_since(), (OomKills{.count = 2, .outside = true}));
}

TEST_F(OomWatchTest, NothingWithoutCounters) {
    EXPECT_EQ(OomWatch(sources()).kills_since(), std::nullopt);
    write("membership", "garbage\n0::\n:\n");
    write("vmstat", "oom_kill many\n");
    EXPECT_EQ(OomWatch(sources()).kills_since(), std::nullopt);
}

TEST(BytesText, InTheLargestUnit) {
    EXPECT_EQ(bytes_text(0), "0 B");
    EXPECT_EQ(bytes_text(1023), "1023 B");
    EXPECT_EQ(bytes_text(1536), "1.5 KiB");
    EXPECT_EQ(bytes_text(64 << 20), "64 MiB");
    EXPECT_EQ(bytes_text(std::int64_t{3} << 40), "3 TiB");
    EXPECT_EQ(bytes_text(std::int64_t{3} << 52), "12288 TiB");
}

}  // namespace
}  // namespace dtrain
