// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what NCCL's guide allows and in which order (nccl_stand_in.hpp refuses the rest), and the rules in
// nccl.hpp. Runs at 1, 2 and 4 ranks on the stand-in alone.
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/nccl/nccl_bootstrap.hpp"
#include "comm/nccl/nccl_stand_in.hpp"
#include "comm/nccl/nccl_world.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using nccl_stand_in::script;
using nccl_stand_in::seen;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class NcclBackend : public testing::Test {
  protected:
    void SetUp() override {
        nccl_stand_in::connect();
        nccl_stand_in::reset();
        world.barrier();
    }
    void TearDown() override {
        EXPECT_THAT(seen().wrong, IsEmpty());
        nccl_stand_in::reset();
        cudaSetDevice(me);
    }

    std::string refused(const NcclOptions& options) const {
        try {
            nccl_communicator(world, options);
        } catch (const NcclError& error) {
            return error.what();
        }
        return "nothing was thrown";
    }

    const Communicator& world = test_world();
    const int me = world.rank();
    const int ranks = world.size();
};

TEST_F(NcclBackend, IsMadeWithoutWaitingCallsAndWithAName) {
    const auto nccl = nccl_communicator(world, {.name = "job/world"});
    EXPECT_EQ(seen().blocking, 0);
    EXPECT_THAT(seen().names, ElementsAre("job/world"));
    EXPECT_THAT(seen().roots, ElementsAre(0));
    EXPECT_THAT(nccl.describe(), HasSubstr("on GPU " + std::to_string(me) + ", \"job/world\""));
    const auto part = nccl.split(me % 2, me);
    EXPECT_EQ(seen().names.back(), "job/world/1." + std::to_string(me % 2));
    EXPECT_THAT(seen().roots, ElementsAre(me % 2)) << "each part has an id of its own";
}

TEST_F(NcclBackend, IsEndedInOrder) {
    {
        const auto nccl = nccl_communicator(world);
        GpuVector<float> ones(std::vector<float>(100, 1.0F));
        nccl.allreduce(ones.span());
        auto one = std::make_unique<SharedBuffer>(nccl.allocate(100));
        const auto another = nccl.allocate(100);
        one.reset();
        EXPECT_THAT(seen().calls, ElementsAre("join", "allocate", "register", "allocate", "register"));
        const auto third = nccl.allocate(100);  // nobody needs the first any longer
        EXPECT_THAT(seen().calls, testing::Contains("free"));
    }
    EXPECT_THAT(seen().calls, ElementsAre("join", "allocate", "register", "allocate", "register",
                                          "deregister", "free", "allocate", "register", "deregister", "free",
                                          "deregister", "free", "finalize", "destroy"));
}

TEST_F(NcclBackend, MemoryKeepsItsCommunicator) {
    SharedBuffer memory;
    {
        const auto nccl = nccl_communicator(world);
        memory = nccl.allocate(100);
    }
    EXPECT_THAT(seen().calls, ElementsAre("join", "allocate", "register"));
    memory = {};
    EXPECT_THAT(seen().calls,
                ElementsAre("join", "allocate", "register", "deregister", "free", "finalize", "destroy"));
}

TEST_F(NcclBackend, PollsWhileNcclIsInProgress) {
    script().join_polls = 1 + 3 * me;
    script().issue_polls = 7 - me;
    const auto nccl = nccl_communicator(world);
    GpuVector<float> ones(std::vector<float>(100, 1.0F));
    std::vector<Request> requests;
    for (int i = 0; i < 5; ++i) requests.push_back(nccl.start_allreduce(ones.span()));
    for (auto& request : requests) request.wait();
    float expected = 1.0F;
    for (int i = 0; i < 5; ++i) expected *= static_cast<float>(ranks);
    EXPECT_THAT(ones.on_host(), Each(expected));
}

TEST_F(NcclBackend, BeginsWhenWhatWasComputedIsThere) {
    const auto nccl = nccl_communicator(world);
    GpuVector<float> values(std::vector<float>(10, 0.0F));
    int looks = 0;
    nccl_stand_in::put(nullptr, [&] {  // a kernel that takes its time
        if (++looks < 20 * (me + 1)) return false;
        values = std::vector<float>(10, 1.0F);
        return true;
    });
    nccl.allreduce(values.span());
    EXPECT_THAT(values.on_host(), Each(static_cast<float>(ranks)));
}

TEST_F(NcclBackend, MeetsBySeveralIds) {
    const auto nccl = nccl_communicator(world, {.ids = ranks});
    std::vector<int> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
    EXPECT_EQ(seen().roots, all);
    GpuVector<int> ones(std::vector<int>{1});
    nccl.allreduce(ones.span());
    EXPECT_EQ(ones.on_host()[0], ranks);

    const auto ids = comm::share_nccl_unique_ids(world, ranks);
    auto of_first = ids;
    world.broadcast(std::span(of_first));
    EXPECT_EQ(ids, of_first);
    if (ranks > 1) {
        EXPECT_NE(ids[0], ids[1]);
    }
}

TEST_F(NcclBackend, IsRefusedOnAllRanksWhenOneHasNoGpu) {
    if (me == ranks - 1) script().gpus = 0;
    EXPECT_THAT(refused({}), HasSubstr("cudaGetDeviceCount failed: no CUDA-capable device is detected"));
    if (me == ranks - 1) script().gpus = 8;
    EXPECT_THAT(refused({.device = 8}), HasSubstr("NcclOptions::device says GPU 8, but this process sees 8"));
    EXPECT_THAT(refused({.ids = ranks + 1}), HasSubstr("ids for"));
    EXPECT_THAT(seen().calls, IsEmpty());
    world.barrier();  // life goes on
}

TEST_F(NcclBackend, IsRefusedOnAllRanksWhenTheirNcclsDiffer) {
    if (ranks == 1) GTEST_SKIP() << "one rank has one NCCL";
    if (me == ranks - 1) script().version = 22907;
    const auto last = std::to_string(ranks - 1);
    EXPECT_THAT(refused({}), AllOf(HasSubstr("the ranks have different versions of NCCL: 2.28.9 on "),
                                   HasSubstr("2.29.7 on 1 rank (the first is rank " + last + " on "),
                                   EndsWith("install one on all nodes")));
    EXPECT_THAT(seen().calls, IsEmpty());
}

TEST_F(NcclBackend, IsRefusedWhereTheLibraryIsOlderThanWhatDtrainCalls) {
    script().version = 21402;
    EXPECT_THAT(refused({}), AllOf(StartsWith("nccl_communicator: on "),
                                   HasSubstr(": NCCL 2.14.2 is loaded, but dtrain was built with "),
                                   HasSubstr("first in LD_LIBRARY_PATH")));
    EXPECT_THAT(seen().calls, IsEmpty());
}

TEST_F(NcclBackend, IsRefusedOnAllRanksWhenTheDriverOfOneIsTooOld) {
    if (me == ranks - 1) script().driver = 10020;
    EXPECT_THAT(refused({}),
                AllOf(StartsWith("nccl_communicator: on "),
                      HasSubstr(": its GPU driver supports CUDA 10.2, but dtrain was built with ")));
    EXPECT_THAT(seen().calls, IsEmpty());
}

TEST_F(NcclBackend, MemoryThatOneRankDoesNotGetIsAnErrorOfAll) {
    const auto nccl = nccl_communicator(world);
    script().memory_is_gone = me == ranks - 1;
    EXPECT_THROW(nccl.allocate(100), NcclError);
    script().memory_is_gone = false;
    EXPECT_EQ(nccl.allocate(100).bytes().size(), 100U);
}

TEST_F(NcclBackend, MemoryOfAnotherGpuIsRefused) {
    const auto nccl = nccl_communicator(world);
    cudaSetDevice(me + 1);
    GpuVector<float> elsewhere(10);
    GpuVector<float> from_elsewhere(10);
    try {
        nccl.allreduce(elsewhere.span());
        FAIL() << "memory of another GPU was taken";
    } catch (const NcclError& error) {
        EXPECT_THAT(error.what(), HasSubstr("allreduce of memory of another GPU"));
    }
    cudaSetDevice(me);
    GpuVector<float> local(std::vector<float>{1.0F});
    cudaSetDevice(me + 1);  // what the user does with other GPUs stays so
    nccl.allreduce(local.span());
    int device = -1;
    cudaGetDevice(&device);
    EXPECT_EQ(device, me + 1);
}

TEST_F(NcclBackend, AnInvalidArgumentIsNoEnd) {
    const auto nccl = nccl_communicator(world);
    GpuVector<float> ones(std::vector<float>{1.0F});
    script().refuse_at = 1;
    EXPECT_THROW(nccl.allreduce(ones.span()), NcclError);
    nccl.allreduce(ones.span());
    EXPECT_EQ(ones.on_host()[0], static_cast<float>(ranks));
}

TEST_F(NcclBackend, GroupsMessages) {
    const auto nccl = nccl_communicator(world);
    GpuVector<int> in(std::vector<int>(static_cast<std::size_t>(ranks)));
    const GpuVector<int> out(std::vector<int>(static_cast<std::size_t>(ranks), me));
    nccl.all_to_all(out.span(), in.span());
    EXPECT_EQ(seen().groups, 1);
    EXPECT_EQ(seen().operations, 1);
}

TEST(NcclAlone, NeedsNoMpi) {
    nccl_stand_in::reset();
    const auto nccl = nccl_communicator(Communicator(), {.device = 0});
    cudaSetDevice(0);
    GpuVector<float> values(std::vector<float>{3.0F});
    nccl.allreduce(values.span(), Reduction::average);
    nccl.barrier();
    EXPECT_EQ(values.on_host()[0], 3.0F);
    EXPECT_EQ(nccl.size(), 1);
}

}  // namespace
}  // namespace dtrain
