// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what ExecutorOptions promises of num_trainers and trainer_id; a process alone is trainer 0 of 1.
#include <climits>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>

#include "support/message_of.hpp"

namespace dtrain {
namespace {

/// What is wrong with an executor of a process alone, or "" when it computes.
std::string executor_refusal(const ExecutorOptions& options) {
    Program program;
    const auto x = layers::data(program, "x", {1});
    const auto twice = layers::scale(program, x, 2);
    return tests::message_of([&] {
        Executor executor(program, State(program, 1), {}, options);
        executor.feed<float>(x)[0] = 3;
        executor.run();
        EXPECT_EQ(executor.fetch_scalar(twice), 6);
    });
}

TEST(Trainers, AreNotComparedUnlessTold) {
    EXPECT_EQ(executor_refusal({}), "");
}

TEST(Trainers, OfAProcessAloneAreOne) {
    EXPECT_EQ(executor_refusal({.num_trainers = 1}), "");
    EXPECT_EQ(executor_refusal({.trainer_id = 0}), "");
    EXPECT_EQ(executor_refusal({.num_trainers = 1, .trainer_id = 0}), "");
}

TEST(Trainers, OfAnotherNumberAreRefused) {
    for (const int number : {2, 0, -1, INT_MAX, INT_MIN}) {
        const auto expected = "num_trainers is " + std::to_string(number) +
                              ", but the communicator has 1 rank: was the job started with as many?";
        EXPECT_EQ(executor_refusal({.num_trainers = number}), expected);
        EXPECT_EQ(executor_refusal({.num_trainers = number, .trainer_id = 0}), expected);
        EXPECT_EQ(executor_refusal({.num_trainers = number, .trainer_id = 1}), expected)
            << "the first that is wrong";
    }
}

TEST(Trainers, WithAnotherIdAreRefused) {
    for (const int id : {1, -1, INT_MAX, INT_MIN}) {
        const auto expected =
            "trainer_id is " + std::to_string(id) + ", but this is rank 0 of the communicator";
        EXPECT_EQ(executor_refusal({.trainer_id = id}), expected);
        EXPECT_EQ(executor_refusal({.num_trainers = 1, .trainer_id = id}), expected);
    }
}

}  // namespace
}  // namespace dtrain
