// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the rules of sums_by_nccl.hpp, on a stand-in for NCCL. Runs at 1, 2 and 4 ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/nccl/nccl_stand_in.hpp"
#include "comm/nccl/nccl_world.hpp"
#include "comm/nccl/sums_by_nccl.hpp"
#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using tests::message_of;

bool is_last() {
    return test_world().rank() == test_world().size() - 1;
}

TEST(SumsByNccl, AreOfAllRanksOrOfNone) {
    comm::check_all_or_none_compute_on_gpus(true, test_world());
    comm::check_all_or_none_compute_on_gpus(false, test_world());
    if (test_world().size() == 1) return;
    EXPECT_THAT(message_of([] { comm::check_all_or_none_compute_on_gpus(!is_last(), test_world()); }),
                HasSubstr("this one computes on the CPU, unlike others; give all ranks GPUs"));
}

TEST(SumsByNccl, AreMadeByNccl) {
    nccl_world();  // connects the stand-in
    const auto ranks = comm::over_nccl(test_world(), test_world().node_rank(), nullptr);
    GpuVector<float> gradient(std::vector<float>(3, static_cast<float>(ranks.rank() + 1)));
    ranks.allreduce_sum(gradient.span());
    const auto sum = static_cast<float>(ranks.size() * (ranks.size() + 1)) / 2;
    EXPECT_EQ(gradient.on_host(), std::vector<float>(3, sum));
}

TEST(SumsByNccl, OfferMpiWhereOneRankHasNoGpu) {
    nccl_world();
    nccl_stand_in::script().gpus = is_last() ? 0 : 8;
    EXPECT_THAT(
        message_of([] { comm::over_nccl(test_world(), test_world().node_rank(), nullptr); }),
        AllOf(StartsWith("NCCL cannot add the gradients here: "),
              EndsWith("; leave nccl out, and MPI adds them, or see what dtrain-launch --check says")));
    nccl_stand_in::reset();
    EXPECT_EQ(test_world().sum(std::int64_t{1}), test_world().size());
}

}  // namespace
}  // namespace dtrain
