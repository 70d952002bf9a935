// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: ranks of one job agree, those of two do not, and nothing of a name follows from what others know of
// the job.
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/signal_free_thread.hpp"
#include "support/temporary_folder.hpp"
#include "worker/gloo_folder.hpp"

namespace dtrain::worker {
namespace {

using testing::MatchesRegex;

std::string folder_of(const tests::TemporaryFolder& logs, const std::string& job) {
    return gloo_folder(logs.path(), job, LogFolders::own);
}

TEST(GlooFolder, IsThatOfAllRanksOfAJobAndOfNoOther) {
    const tests::TemporaryFolder logs, other_logs;
    const auto name = folder_of(logs, "night.01234567");
    EXPECT_THAT(name, MatchesRegex("/tmp/dtrain-gloo\\.[0-9a-f]{32}"));
    EXPECT_EQ(folder_of(logs, "night.01234567"), name);
    EXPECT_NE(folder_of(logs, "day"), name);
    EXPECT_EQ(folder_of(logs, "night.01234567"), name);
    EXPECT_EQ(folder_of(logs, "../x y"), folder_of(logs, "../x y"));
    EXPECT_NE(folder_of(other_logs, "night.01234567"), name);
}

TEST(GlooFolder, IsOnlyOneAlsoWhenAllAskAtOnce) {
    const tests::TemporaryFolder logs;
    std::array<std::string, 8> names;
    {
        std::vector<std::jthread> ranks;
        for (auto& name : names)
            ranks.push_back(signal_free_thread<std::jthread>([&] { name = folder_of(logs, "job"); }));
    }
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 1U);
}

TEST(GlooFolder, IsNeverThatOfAStrangersFile) {
    const tests::TemporaryFolder logs;
    tests::write_bytes(logs / "planted", "job planted\n");
    std::filesystem::create_symlink(logs / "planted", logs / ".dtrain.gloo");
    EXPECT_THAT(folder_of(logs, "job"), MatchesRegex("/tmp/dtrain-gloo\\.[0-9a-f]{32}"));
    EXPECT_EQ(tests::bytes_of(logs / "planted"), "job planted\n");
}

TEST(GlooFolder, OldJobsAreForgotten) {
    std::string text;
    for (int job = 0; job < 200; ++job)
        text = with_gloo_mark(text, std::to_string(job), "m" + std::to_string(job));
    EXPECT_EQ(gloo_mark(text, "199"), "m199");
    EXPECT_EQ(gloo_mark(text, "136"), "m136");
    EXPECT_EQ(gloo_mark(text, "135"), "");
    EXPECT_EQ(gloo_mark(text, "19"), "");
}

}  // namespace
}  // namespace dtrain::worker
