// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: what somebody would call the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/jobs/compare_command.hpp"

namespace dtrain::launch {
namespace {

using testing::ElementsAre;

TEST(CompareCommand, FilesAreCalledByWhatTellsThemApart) {
    EXPECT_THAT(names_of_files({"adam.html", "sgd.jsonl"}), ElementsAre("adam", "sgd"));
    EXPECT_THAT(names_of_files({"runs/adam/run.html", "runs/sgd/run.html"}), ElementsAre("adam", "sgd"));
    EXPECT_THAT(names_of_files({"a/1/run.html", "b/2/run.html"}), ElementsAre("a/1", "b/2"));
    EXPECT_THAT(names_of_files({"a/run.html", "a/b/run.html"}), ElementsAre("run", "b/run"));
    EXPECT_THAT(names_of_files({"run.html", "run.jsonl"}), ElementsAre("run.html", "run.jsonl"));
    EXPECT_THAT(names_of_files({"/x/run.html", "y/run.html"}), ElementsAre("/x", "y"));
    EXPECT_THAT(names_of_files({"./a.html", "b/../c.html"}), ElementsAre("a", "c"));
    EXPECT_THAT(names_of_files({"runs/lr0.1.html", "runs/lr0.01.html"}), ElementsAre("lr0.1", "lr0.01"));
    EXPECT_THAT(names_of_files({"runs/lr0.1/m.jsonl", "runs/lr0.01/m.jsonl"}),
                ElementsAre("lr0.1", "lr0.01"));
    EXPECT_THAT(names_of_files({"runs/m.jsonl"}), ElementsAre("m"));
    EXPECT_THAT(names_of_files({"a.html", "a.html"}), ElementsAre("a.html", "a.html"));
}

TEST(CompareCommand, IsTheFirstWord) {
    EXPECT_TRUE(is_compare_command({"compare"}));
    EXPECT_FALSE(is_compare_command({"--gpus", "0", "compare"}));
    EXPECT_FALSE(is_compare_command({}));
}

}  // namespace
}  // namespace dtrain::launch
