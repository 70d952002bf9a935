// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: what each rank says after each step, of which all others hear one step later; a rank alone hears
// itself at once. Runs at 1, 2 and 4 ranks.
#include <gtest/gtest.h>

#include "checkpoint/step_agreement.hpp"
#include "support/test_world.hpp"

namespace dtrain::checkpoint {
namespace {

/// Is written when the test says so, and notes when it is committed.
class ScriptedWriter final : public CheckpointWriter {
  public:
    void begin(const std::string& name) {
        path_ = name;
        is_written = false;
        waits_ = true;
    }
    void start(const CheckpointHeader& /*header*/) override { ADD_FAILURE() << "nobody starts it"; }
    bool part_is_written() const override { return is_written; }
    bool waits_for_commit() const override { return waits_; }
    void commit() override { waits_ = false; }
    void finish() override { ADD_FAILURE() << "nobody waits"; }
    const std::optional<std::filesystem::path>& last() const override { return path_; }

    bool is_written = false;

  private:
    std::optional<std::filesystem::path> path_;
    bool waits_ = false;
};

TEST(StepAgreement, OneRankThatAsksIsEnough) {
    const auto& world = test_world();
    const bool is_last = world.rank() == world.size() - 1;
    const bool is_alone = world.size() == 1;
    const StepWishes wishes[] = {{}, {.checkpoint = is_last}, {.stop = is_last}, {}};
    StepWishes before;
    ScriptedWriter writer;
    StepAgreement agreement(world);
    for (const auto& own : wishes) {
        const auto agreed = agreement.after_step(writer, own);
        const auto& of = is_alone ? own : before;
        EXPECT_EQ(agreed.checkpoint, world.max(std::int64_t{of.checkpoint}) != 0);
        EXPECT_EQ(agreed.stop, world.max(std::int64_t{of.stop}) != 0);
        before = own;
    }
}

TEST(StepAgreement, ACheckpointIsCommittedWhenAllHaveWrittenIt) {
    const auto& world = test_world();
    const bool is_alone = world.size() == 1;
    ScriptedWriter writer;
    StepAgreement agreement(world);
    writer.begin("first");
    agreement.after_step(writer);
    writer.is_written = world.rank() == 0;
    agreement.after_step(writer);
    agreement.after_step(writer);
    EXPECT_EQ(writer.waits_for_commit(), !is_alone) << "the other ranks have not";
    writer.is_written = true;
    agreement.after_step(writer);
    EXPECT_EQ(writer.waits_for_commit(), !is_alone) << "the others have not heard of it";
    agreement.after_step(writer);
    EXPECT_FALSE(writer.waits_for_commit());
}

TEST(StepAgreement, WhatWasSaidOfTheOneBeforeDoesNotCount) {
    if (test_world().size() == 1) GTEST_SKIP() << "a rank alone hears itself at once";
    ScriptedWriter writer;
    StepAgreement agreement(test_world());
    writer.begin("first");
    writer.is_written = true;
    agreement.after_step(writer, {.stop = false, .checkpoint = true});
    writer.begin("second");
    EXPECT_FALSE(agreement.after_step(writer).checkpoint) << "it was begun since then";
    EXPECT_TRUE(writer.waits_for_commit());
}

}  // namespace
}  // namespace dtrain::checkpoint
