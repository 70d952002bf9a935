// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what a world of one must give; no MPI call is made (MPI is never initialised here).
#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/communicator.hpp>

#include "comm/nccl/nccl_module.hpp"

namespace dtrain {
namespace {

TEST(LocalCommunicator, AWorldOfOneKeepsEveryValue) {
    const Communicator world;
    EXPECT_EQ(world.rank(), 0);
    EXPECT_EQ(world.size(), 1);
    world.barrier();
    std::vector<float> values{1, 2, 3};
    world.allreduce_sum(std::span(values));
    auto request = world.start_allreduce_sum(values);
    EXPECT_TRUE(request.complete());
    EXPECT_TRUE(request.test());
    request.wait();
    world.broadcast(std::span(values));
    EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(world.sum(2.5), 2.5);
    EXPECT_EQ(world.max(std::int64_t{-4}), -4);
    EXPECT_EQ(world.min(std::int64_t{-4}), -4);
    EXPECT_EQ(world.broadcast("text"), "text");
    EXPECT_EQ(world.all_gather("text"), std::vector<std::string>{"text"});
    EXPECT_EQ(world.all_gather(std::int64_t{9}), std::vector<std::int64_t>{9});
    EXPECT_THROW(world.broadcast("text", 1), Error);
}

TEST(LocalCommunicator, SendsToItselfAndIsASubsetOfItself) {
    const Communicator world;
    const std::vector<int> sent{7, 8};
    std::vector<int> taken(2);
    world.send(std::span<const int>(sent), 0, 5);
    EXPECT_EQ(world.receive_any(std::span(taken), 5), 0);
    EXPECT_EQ(taken, sent);
    world.send(std::span<const int>(sent), 0);
    int from = -1;
    auto request = world.start_receive_any(std::span(taken), from);
    EXPECT_TRUE(request.wait_for(std::chrono::seconds(1)));
    EXPECT_EQ(from, 0);
    EXPECT_THROW((void)world.receive_any(std::span(taken)), Error);

    EXPECT_EQ(world.subset(std::vector{0}).size(), 1);
    EXPECT_THROW((void)world.subset(std::vector{0, 1}), UsageError);
    EXPECT_THROW((void)world.subset({}), UsageError);
}

TEST(LocalCommunicator, ThrowTogetherThrowsOwnError) {
    const Communicator world;
    throw_together(world, std::nullopt);
    EXPECT_THROW(throw_together(world, "broken"), UsageError);
    EXPECT_THROW(throw_together<Error>(world, "broken"), Error);
}

TEST(MpiWorld, NeedsASession) {
    EXPECT_THROW(mpi_world(), Error);
}

TEST(MpiErrors, HaveAMessageEvenWhenMpiIsNotRunning) {
    EXPECT_EQ(mpi_category().message(17), "MPI error 17");
    EXPECT_STREQ(mpi_category().name(), "MPI");
}

TEST(GpuVersions, AreNumbersOrEmpty) {
    const auto versions = comm::gpu_versions().software;
    for (const auto& version : {versions.cuda_runtime, versions.cuda_driver, versions.nccl,
                                versions.nccl_built, versions.nccl_needed, versions.nccl_cuda})
        EXPECT_EQ(version.find_first_not_of("0123456789."), std::string::npos) << version;
    // One CUDA build has both libraries, any other none.
    EXPECT_EQ(versions.cuda_runtime.empty(), versions.nccl.empty());
#ifdef WITH_NCCL_MODULE
    EXPECT_FALSE(versions.nccl.empty()) << comm::gpu_versions().why_none;
#else
    EXPECT_THAT(comm::gpu_versions().why_none, testing::HasSubstr("libdtrain_nccl.so"));
#endif
}

TEST(LocalCommunicator, AllgatherIsTheFormerNameOfAllGather) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    EXPECT_EQ(Communicator().allgather("text"), Communicator().all_gather("text"));
    EXPECT_EQ(Communicator().allgather(std::int64_t{9}), Communicator().all_gather(std::int64_t{9}));
#pragma GCC diagnostic pop
}

TEST(LocalCommunicator, ShareIsTheFormerNameOfShard) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    const Communicator alone;
    std::vector<float> buffer{1, 2, 3};
    std::size_t used = 0;
    alone.reduce_shares(std::span(buffer),
                        [&](std::size_t first, std::span<float> sums) { used += first + sums.size(); });
    EXPECT_EQ(used, 3U);
    const Communicator::Share all = alone.share<float>(3);
    EXPECT_EQ(all.first, alone.shard<float>(3).first);
    EXPECT_EQ(all.count, alone.shard<float>(3).count);
#pragma GCC diagnostic pop
}

}  // namespace
}  // namespace dtrain
