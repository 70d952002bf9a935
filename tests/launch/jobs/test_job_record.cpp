// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what is written is read back; this process, and one that has ended.
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/process_tree.hpp"
#include "base/temporary_folder.hpp"
#include "launch/jobs/job_record.hpp"

namespace dtrain::launch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

JobRecord example() {
    return {.job = "my/job \"x\"",
            .host = "node1",
            .pid = 4711,
            .started = 18446744073709551615U,
            .engine = "srun",
            .scheduler = "slurm",
            .scheduler_job = "12",
            .program = "train.py",
            .log_dir = "/home/u/log",
            .begin_us = 1'795'273'926'936'740,
            .socket = "/tmp/dtrain.x/control",
            .size = 2,
            .hosts = {"node1", "node2"},
            .pid_scope = "boot pid:[1]"};
}

TEST(JobRecord, IsReadAsItWasWritten) {
    EXPECT_EQ(parse_record(to_json(example())), example());
    EXPECT_EQ(parse_record(to_json(JobRecord{})), JobRecord{});
}

TEST(JobRecord, OtherTextsAreNone) {
    for (const char* text : {"", "{", "[]", "3", "{\"job\": 3}", "{\"job\": \"x\"}"})
        EXPECT_EQ(parse_record(text), std::nullopt) << text;
}

TEST(JobRecord, Names) {
    auto record = example();
    record.job = "train";
    record.scheduler_job = "12.server";
    EXPECT_EQ(full_name(record), "train@node1:4711");
    for (const char* word : {"train", "train@node1:4711", "12", "12.server"})
        EXPECT_TRUE(is_called(record, word)) << word;
    for (const char* word : {"", "1", "12.other", "train@node1", "4711"})
        EXPECT_FALSE(is_called(record, word)) << word;
}

TEST(JobRecord, FolderOfTheUser) {
    EXPECT_EQ(records_folder({}), std::nullopt);
    Environment environment;
    environment.set("HOME", "/home/u");
    EXPECT_EQ(records_folder(environment), "/home/u/.local/state/dtrain/jobs");
    environment.set("XDG_STATE_HOME", "/state");
    EXPECT_EQ(records_folder(environment), "/state/dtrain/jobs");
    environment.set("DTRAIN_JOBS_DIR", "/jobs");
    EXPECT_EQ(records_folder(environment), "/jobs");
}

TEST(JobRecord, FilesOfAFolder) {
    const TemporaryFolder folder;
    const auto jobs = fs::path(folder.path()) / "a" / "jobs";
    EXPECT_THAT(read_records(jobs), IsEmpty());
    auto younger = example();
    ++younger.begin_us;
    younger.host = "../node 2";  // a name is no path
    write_record(jobs, younger);
    write_record(jobs, example());
    std::ofstream(jobs / "garbage.json") << "{";
    std::ofstream(jobs / "other.txt") << to_json(example());
    fs::create_symlink(record_file(jobs, younger), jobs / "link.json");
    EXPECT_THAT(read_records(jobs), ElementsAre(example(), younger));
    struct stat info {};
    ASSERT_EQ(::stat(record_file(jobs, younger).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    EXPECT_EQ(record_file(jobs, younger).parent_path(), jobs);
    remove_traces(jobs, younger);
    EXPECT_THAT(read_records(jobs), ElementsAre(example()));
}

TEST(JobRecord, ThoseOfOtherUsersAreNotRead) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root gives files to others";
    const TemporaryFolder folder;
    write_record(folder.path(), example());
    constexpr uid_t other = 65534;
    ASSERT_EQ(::chown(record_file(folder.path(), example()).c_str(), other, other), 0);
    EXPECT_THAT(read_records(folder.path()), IsEmpty());
}

TEST(JobRecord, OneOfAnOlderDtrainIsRead) {
    auto text = to_json(example());
    const std::string newer = R"(,"pid_scope":"boot pid:[1]")";
    const auto at = text.find(newer);
    ASSERT_NE(at, std::string::npos) << text;
    auto older = example();
    older.pid_scope = "";
    EXPECT_EQ(parse_record(text.erase(at, newer.size())), older);
}

TEST(JobRecord, LostOnesAreRemovedWhereThatCanBeTold) {
    const TemporaryFolder folder;
    const fs::path jobs = folder.path();
    const auto pid_space = own_pid_space();
    ASSERT_FALSE(pid_space.empty());
    const auto own_start = stat_of(::getpid())->start_time;
    const JobRecord running{
        .job = "running", .host = "node1", .pid = ::getpid(), .started = own_start, .pid_scope = pid_space};
    const JobRecord lost{
        .job = "lost", .host = "node1", .pid = 1, .started = own_start + 1, .pid_scope = pid_space};
    auto elsewhere = lost, of_another_boot = lost, of_an_older_dtrain = lost;
    elsewhere.host = "node2";
    of_another_boot.pid = 2;
    of_another_boot.pid_scope = "boot pid:[1]";
    of_an_older_dtrain.pid = 3;
    of_an_older_dtrain.pid_scope = "";
    for (const auto& record : {running, lost, elsewhere, of_another_boot, of_an_older_dtrain})
        write_record(jobs, record);
    remove_dead_records(jobs, "node1");
    EXPECT_THAT(read_records(jobs),
                UnorderedElementsAre(running, elsewhere, of_another_boot, of_an_older_dtrain));
}

TEST(JobRecord, AReusedPidIsAnotherProcess) {
    JobRecord record{.pid = ::getpid(), .started = stat_of(::getpid())->start_time};
    EXPECT_TRUE(is_running(record));
    ++record.started;
    EXPECT_FALSE(is_running(record));
}

}  // namespace
}  // namespace dtrain::launch
