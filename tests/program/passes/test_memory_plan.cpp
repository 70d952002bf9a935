// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: no two variables that are needed at the same time share a byte, found by looking at all pairs; the
// results of an executor that shares nothing.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/passes.hpp>

#include "program/passes/memory_plan.hpp"
#include "program/runtime/classifier.hpp"
#include "program/runtime/copy_of.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using program::ByteRange;
using program::MemoryPlan;
using program::plan_memory;
using testing::HasSubstr;
using tests::message_of;

Classifier trained_classifier(std::int64_t batch = 32) {
    auto made = make_classifier(batch, "tanh");
    minimize(made.program, made.cross_entropy.loss, Adam{});
    return made;
}

bool needed_together(const Program& program, const std::string& a, const std::string& b) {
    const auto range = [&](const std::string& name) {
        std::pair<std::size_t, std::size_t> found{program.operators().size(), 0};
        for (std::size_t number = 0; number < program.operators().size(); ++number)
            for (const auto* side :
                 {&program.operators()[number].inputs, &program.operators()[number].outputs})
                if (std::ranges::find(*side, name, &Argument::variable) != side->end())
                    found = {std::min(found.first, number), number};
        return found;
    };
    const auto [a_first, a_last] = range(a);
    const auto [b_first, b_last] = range(b);
    return a_first <= b_last && b_first <= a_last;
}

bool overlap(const ByteRange& a, const ByteRange& b) {
    return a.begin < b.end && b.begin < a.end;
}

void expect_sound(const Program& program, const MemoryPlan& plan) {
    for (const auto& [a, range] : plan.ranges) {
        EXPECT_LE(range.end, plan.bytes) << a;
        EXPECT_EQ(range.begin % 64, 0U) << a;
        for (const auto& [b, other] : plan.ranges)
            if (a < b && overlap(range, other)) {
                EXPECT_FALSE(needed_together(program, a, b)) << a << " and " << b;
                EXPECT_TRUE(plan.overwritten.contains(a) || plan.overwritten.contains(b))
                    << a << " and " << b;
            }
    }
}

TEST(MemoryPlan, SharesOnlyWhatIsNotNeededTogether) {
    const auto made = trained_classifier();
    for (const int ranks : {1, 2}) {
        const auto program = data_parallel(made.program, {.ranks = ranks, .bucket_bytes = 20'000});
        const auto apart = plan_memory(program, {});
        const auto shared = plan_memory(program, {.reuse = true});
        expect_sound(program, apart);
        expect_sound(program, shared);
        EXPECT_TRUE(apart.overwritten.empty());
        EXPECT_LT(shared.bytes, apart.bytes);
    }
}

TEST(MemoryPlan, KeepsWhatItIsTold) {
    const auto program = trained_classifier().program;
    const auto shared = plan_memory(program, {.reuse = true});
    ASSERT_TRUE(shared.overwritten.contains("fc_1.out@grad")) << "it takes part without being kept";
    EXPECT_FALSE(plan_memory(program, {.reuse = true, .keep = {"fc_1.out@grad"}})
                     .overwritten.contains("fc_1.out@grad"));
    for (const auto& name : plan_memory(program, {.reuse = true, .skip_grads = true}).overwritten)
        EXPECT_NE(program.variable(name).role, Role::gradient) << name;
}

TEST(MemoryPlan, BucketsHoldGradientsInTheOrderOfTheirParameters) {
    const auto made = trained_classifier();
    const auto program = data_parallel(made.program, {.ranks = 2, .bucket_bytes = 1});
    const auto plan = plan_memory(program, {});
    ASSERT_GT(plan.buckets.size(), 2U);
    EXPECT_EQ(plan.buckets.front().begin, 0U);
    EXPECT_EQ(plan.buckets.back().end, plan.exchanged);
    for (std::size_t i = 1; i < plan.buckets.size(); ++i)
        EXPECT_EQ(plan.buckets[i].begin, plan.buckets[i - 1].end);
    const auto whole = plan_memory(made.program, {});
    ASSERT_EQ(whole.buckets.size(), 1U);
    std::size_t last = 0;
    for (const auto& variable : made.program.variables()) {
        if (variable.role != Role::parameter) continue;
        const auto& range = whole.ranges.at(gradient_name(variable.name));
        EXPECT_GE(range.begin, last) << variable.name;
        last = range.begin;
    }
}

TEST(MemoryOptimize, ChangesNoResult) {
    const auto made = trained_classifier();
    const auto train = [&](const ExecutorOptions& options) {
        State state(made.program, 3);
        Executor executor(made.program, state, {}, options);
        for (std::size_t step = 0; step < 10; ++step) {
            feed_samples(executor, 32 * step);
            executor.run();
        }
        return parameters_checksum(state);
    };
    EXPECT_EQ(train({.memory_optimize = true}), train({}));
    EXPECT_EQ(train({.memory_optimize = true, .skip_grads = true}), train({}));
}

TEST(MemoryOptimize, SaysWhatIsNotKept) {
    const auto made = trained_classifier();
    const State state(made.program, 1);
    Executor sharing(made.program, state, {}, {.memory_optimize = true});
    EXPECT_THAT(message_of<ProgramError>([&] { sharing.fetch("fc_1.out@grad"); }),
                HasSubstr("memory_optimize gave its memory to others; name it in ExecutorOptions::keep"));
    Executor keeping(made.program, state.clone(), {}, {.memory_optimize = true, .keep = {"fc_1.out@grad"}});
    Executor plain(made.program, state.clone());
    for (auto* executor : {&keeping, &plain}) {
        feed_samples(*executor, 0);
        executor->run();
    }
    EXPECT_EQ(copy_of(keeping.fetch("fc_1.out@grad")), copy_of(plain.fetch("fc_1.out@grad")));
    EXPECT_LT(keeping.memory_bytes(), plain.memory_bytes());
    EXPECT_THAT(message_of<ProgramError>([&] { Executor(made.program, state, {}, {.keep = {"fc_9.out"}}); }),
                HasSubstr("fc_9.out"));
}

}  // namespace
}  // namespace dtrain
