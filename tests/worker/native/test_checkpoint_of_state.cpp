// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: a state that went through a checkpoint must have the same bits; a checkpoint of another job must be
// refused and change nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "support/message_of.hpp"
#include "worker/native/model.hpp"
#include "worker/native/state_checkpoint.hpp"

namespace dtrain::native {
namespace {

using testing::HasSubstr;

const std::map<std::string, std::string> job = {{"model", "3-5-2 relu"}, {"global_batch", "64"}};

State state_of(std::uint64_t seed, std::int64_t hidden = 5, const Optimizer& optimizer = Adam{}) {
    return State(build_model({{hidden}, "relu"}, {4, 3, 2}, optimizer, {1}).train, seed);
}

Checkpoint checkpoint_of(const State& state) {
    Checkpoint checkpoint;
    checkpoint.job = job;
    store(state, checkpoint);
    return checkpoint;
}

std::string refusal(const Checkpoint& checkpoint, const State& state) {
    const auto before = parameters_checksum(state);
    const auto message = tests::message_of([&] { restore("old.h5", checkpoint, job, state); });
    EXPECT_EQ(parameters_checksum(state), before);
    return message;
}

TEST(CheckpointOfState, RestoresEveryBit) {
    const auto from = state_of(1);
    for (const auto& tensor : from.tensors())
        if (tensor.view.type == DataType::int64) tensor.view.as<std::int64_t>()[0] = 77;
    const auto to = state_of(2);
    ASSERT_NE(parameters_checksum(from), parameters_checksum(to));
    const auto checkpoint = checkpoint_of(from);
    restore("old.h5", checkpoint, job, to);
    EXPECT_EQ(parameters_checksum(from), parameters_checksum(to));
    EXPECT_EQ(checkpoint_of(to), checkpoint);
    EXPECT_EQ(checkpoint.parameters.size(), 4U);
    EXPECT_GE(checkpoint.optimizer.size(), 8U);
}

TEST(CheckpointOfState, RefusesAnotherJob) {
    const auto state = state_of(1);
    auto other = checkpoint_of(state);
    other.job["global_batch"] = "32";
    EXPECT_EQ(refusal(other, state),
              "old.h5: made with global_batch 32, but this job has 64; set global_batch = 32");
    other = checkpoint_of(state);
    other.job["last_batch"] = "drop";
    EXPECT_EQ(refusal(other, state), "old.h5: made with last_batch drop, but this job has none");
    other = checkpoint_of(state);
    other.job.erase("model");
    EXPECT_EQ(refusal(other, state), "old.h5: made with model unknown, but this job has 3-5-2 relu");
}

TEST(CheckpointOfState, RefusesAnotherShapeOrOptimizer) {
    const auto state = state_of(1);
    EXPECT_THAT(refusal(checkpoint_of(state_of(2, 6)), state), HasSubstr("but this job's model needs"));
    EXPECT_THAT(refusal(checkpoint_of(state_of(2, 5, Sgd{})), state), HasSubstr("it has no"));
    auto other = checkpoint_of(state_of(2));
    auto& tensor = other.parameters.begin()->second;
    const auto count = std::get<std::vector<float>>(tensor.values).size();
    tensor.values = std::vector<std::int64_t>(count);
    EXPECT_THAT(refusal(other, state), HasSubstr("old.h5"));
}

}  // namespace
}  // namespace dtrain::native
