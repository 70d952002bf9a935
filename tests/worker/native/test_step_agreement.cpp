// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: what each rank says after each step, of which all others hear one step later; a rank alone hears
// itself at once. Runs at 1, 2 and 4 ranks.
#include <gtest/gtest.h>

#include "support/test_world.hpp"
#include "worker/native/step_agreement.hpp"

namespace dtrain::native {
namespace {

TEST(StepAgreement, OneRankThatAsksIsEnoughAndAllMustHaveWritten) {
    const auto& world = test_world();
    const bool is_last = world.rank() == world.size() - 1;
    const bool is_alone = world.size() == 1;
    const StepWord said[] = {
        {}, {.due = is_last}, {.stop = is_last, .written = is_last}, {.written = true}, {}};
    StepWord last;
    StepAgreement agreement(world);
    for (const auto& own : said) {
        const auto heard = agreement.after_step(own);
        const auto& of = is_alone ? own : last;
        // What one says all hear; the last rank's own words are those that matter, but for `written`.
        EXPECT_EQ(heard.due, world.max(std::int64_t{of.due}) != 0);
        EXPECT_EQ(heard.stop, world.max(std::int64_t{of.stop}) != 0);
        EXPECT_EQ(heard.written, world.all(of.written));
        last = own;
    }
}

}  // namespace
}  // namespace dtrain::native
