// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Tensors are on the stand-in for a GPU, which all ranks share, and gradients go through the stand-in for
// NCCL, which each test finds as new, slow to make communicators and to take operations.
#include <cstdlib>

#include <gmock/gmock.h>

#include "comm/nccl/nccl_stand_in.hpp"
#include "nn/eager_device.hpp"
#include "support/precondition.hpp"
#include "way_of_averages.hpp"

namespace dtrain::nn {

const bool averages_by_nccl = true;

namespace {

std::optional<std::string> why_no_stand_in() {
    nccl_stand_in::connect();
    try {
        if (eager::own_device().gpu()->description().ends_with("this processor")) return std::nullopt;
    } catch (const UsageError& error) {
        return error.what();
    }
    return "NCCL's stand-in reaches no GPU";
}

class WatchesStandIn : public testing::EmptyTestEventListener {
  public:
    void OnTestStart(const testing::TestInfo& /*test*/) override {
        nccl_stand_in::reset();
        nccl_stand_in::script().join_polls = nccl_stand_in::script().issue_polls = 2;
    }
    void OnTestEnd(const testing::TestInfo& /*test*/) override {
        EXPECT_THAT(nccl_stand_in::seen().wrong, testing::IsEmpty());
    }
};

[[maybe_unused]] const bool is_set_up = [] {
    ::setenv("DTRAIN_DEVICE", "gpu:0", 1);
    tests::precondition() = why_no_stand_in;
    testing::UnitTest::GetInstance()->listeners().Append(new WatchesStandIn);
    return true;
}();

}  // namespace
}  // namespace dtrain::nn
