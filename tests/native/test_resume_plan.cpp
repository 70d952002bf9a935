// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: which checkpoints the test made, in which order, and under which mark.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "native/resume_plan.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::native {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::message_of;

Starts starts_for(const std::map<std::string, std::string>& variables) {
    Environment environment;
    for (const auto& [name, value] : variables) environment.set(name, value);
    return starts_of(environment);
}

TEST(StartsOfAJob, AreToldByTheLauncher) {
    const auto second = starts_for({{"DTRAIN_RUN_ID", "aa"}, {"PADDLE_RESTART_COUNT", "1"}});
    EXPECT_EQ(second.run, "aa");
    EXPECT_EQ(second.before, 1);
    EXPECT_EQ(starts_for({{"DTRAIN_RUN_ID", "aa"}}).before, 0);
    EXPECT_EQ(starts_for({{"DTRAIN_RUN_ID", ""}, {"PADDLE_RESTART_COUNT", "1"}}).before, 0)
        << "of another job";
    EXPECT_EQ(starts_for({{"PADDLE_RESTART_COUNT", "1"}}).before, 0) << "of another launcher";
    EXPECT_EQ(starts_for({}).run, "");
}

Options typed(const std::vector<std::string>& arguments) {
    return parse_options("dtrain-native", arguments);
}

class CheckpointsToTry : public testing::Test {
  protected:
    CheckpointsToTry() {
        settings.dir = folder / "job";
        for (const std::int64_t epoch : {3, 4}) publish(epoch, "");
        for (const std::int64_t epoch : {1, 2}) publish(epoch, "aa");
    }
    void publish(std::int64_t epoch, const std::string& run) const {
        Checkpoint checkpoint;
        checkpoint.epoch = epoch;
        CheckpointFolder(*settings.dir, run).save(checkpoint, 9, CheckpointFormat::file);
    }
    std::vector<std::string> names(const Options& options, const Starts& starts) const {
        std::vector<std::string> out;
        for (const auto& path : checkpoints_to_try(options, settings, starts))
            out.push_back(path.filename().string());
        return out;
    }

    tests::TemporaryFolder folder;
    CheckpointSettings settings;
};

TEST_F(CheckpointsToTry, AreThoseOfTheCommandLineAtTheFirstStart) {
    EXPECT_THAT(names({}, {}), IsEmpty());
    EXPECT_THAT(names({}, {.run = "aa"}), IsEmpty());
    const std::vector<std::string> all{"epoch-000002.h5", "epoch-000004.h5", "epoch-000003.h5",
                                       "epoch-000001.h5"};
    EXPECT_EQ(names(typed({"--resume", "auto"}), {.run = "aa"}), all);
    EXPECT_EQ(names(typed({"--resume"}), {.run = "aa"}), all);
    EXPECT_EQ(names(typed({"--resume", settings.dir->string()}), {.run = "aa"}), all);
    EXPECT_THAT(names(typed({"--resume", "other.h5"}), {}), ElementsAre("other.h5"));
}

TEST_F(CheckpointsToTry, AreTheJobsOwnBeforeThoseWhenItIsStartedAgain) {
    const Starts second{.run = "aa", .before = 1};
    EXPECT_THAT(names({}, second), ElementsAre("epoch-000002.h5", "epoch-000001.h5"));
    EXPECT_THAT(names(typed({"--resume", "other.h5"}), second),
                ElementsAre("epoch-000002.h5", "epoch-000001.h5", "other.h5"));
    EXPECT_THAT(names(typed({"--resume", "auto"}), second),
                ElementsAre("epoch-000002.h5", "epoch-000001.h5", "epoch-000004.h5", "epoch-000003.h5"));
    EXPECT_THAT(names({}, {.run = "bb", .before = 1}), IsEmpty());
    EXPECT_TRUE(may_start_fresh({}, second));
    EXPECT_FALSE(may_start_fresh(typed({"--resume"}), second)) << "it did not begin without one";
    EXPECT_FALSE(may_start_fresh({}, {.run = "aa"}));
    settings.dir.reset();
    EXPECT_THAT(names({}, second), IsEmpty());
    EXPECT_THAT(restart_message(settings, second), HasSubstr("this job keeps no checkpoints"));
    EXPECT_EQ(restart_message(settings, {.run = "aa"}), "");
}

TEST_F(CheckpointsToTry, AreWantedByResume) {
    settings.dir = folder / "empty";
    EXPECT_THAT(message_of([&] { names(typed({"--resume"}), {}); }),
                HasSubstr("--resume: there is no checkpoint in "));
    EXPECT_THAT(names(typed({"--resume", "auto"}), {.run = "aa", .before = 1}), IsEmpty());
    const auto empty = (folder / "made").string();
    std::filesystem::create_directory(empty);
    EXPECT_EQ(message_of([&] {
                  names(typed({"--resume", empty}), {});
              }),
              "--resume " + empty + ": this folder is no checkpoint, and there is none in it");
}

TEST_F(CheckpointsToTry, HaveOneThatLostItsIndexAmongThem) {
    const auto damaged = (folder / "damaged").string();
    std::filesystem::create_directory(damaged);
    std::ofstream(damaged + "/shard-0000.h5") << "rows";
    EXPECT_THAT(names(typed({"--resume", damaged}), {}), ElementsAre("damaged"));
}

}  // namespace
}  // namespace dtrain::native
