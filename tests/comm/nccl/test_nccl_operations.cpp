// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the communicator over MPI, which does the same with the same values in memory of the host
// (test_operations.cpp has its own oracle). The values are whole and small, so that every order of additions
// gives the same bits. Runs at 1, 2 and 4 ranks: on a stand-in for NCCL and CUDA, and where there are GPUs on
// these.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/api/values.hpp"
#include "comm/nccl/nccl_world.hpp"
#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;

constexpr Reduction reductions[] = {Reduction::sum, Reduction::average, Reduction::min, Reduction::max,
                                    Reduction::product};
constexpr std::size_t counts[] = {0, 1, 7, 1025, 100'001};

class OverNccl : public testing::Test {
  protected:
    void SetUp() override {
        if (const auto why = why_no_nccl()) GTEST_SKIP() << *why;
        nccl = nccl_world();
    }

    Communicator nccl;
    const Communicator& mpi = test_world();
    const int me = mpi.rank();
    const int ranks = mpi.size();
    const std::size_t size = static_cast<std::size_t>(ranks);
};

/// The sum of a test's values does not fit.
template <class T>
constexpr bool wraps = std::is_integral_v<T> && (std::is_unsigned_v<T> || sizeof(T) == 1);

template <class T>
class NcclOperations : public OverNccl {};
using Types = testing::Types<float, double, float16, bfloat16, std::int8_t, std::int32_t, std::int64_t,
                             std::uint8_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(NcclOperations, Types);

TYPED_TEST(NcclOperations, AllReduce) {
    for (const auto count : counts) {
        for (const auto reduction : reductions) {
            // NCCL divides the sum that has wrapped, MPI's back end the true one.
            if (wraps<TypeParam> && reduction == Reduction::average) continue;
            auto expected = values_of<TypeParam>(this->me, count);
            GpuVector<TypeParam> on_gpu(expected);
            this->mpi.allreduce(std::span(expected), reduction);
            this->nccl.allreduce(on_gpu.span(), reduction);
            EXPECT_TRUE(same_bits<TypeParam>(on_gpu.on_host(), expected))
                << count << " elements, reduction " << static_cast<int>(reduction);
        }
    }
}

TYPED_TEST(NcclOperations, ReduceScatter) {
    for (const auto count : counts) {
        for (const auto reduction : reductions) {
            if (wraps<TypeParam> && reduction == Reduction::average) continue;
            const auto own = values_of<TypeParam>(this->me, count * this->size);
            std::vector<TypeParam> expected(count);
            const GpuVector<TypeParam> in(own);
            GpuVector<TypeParam> out(count);
            this->mpi.reduce_scatter(std::span<const TypeParam>(own), std::span(expected), reduction);
            this->nccl.reduce_scatter(in.span(), out.span(), reduction);
            EXPECT_TRUE(same_bits<TypeParam>(out.on_host(), expected)) << count;
        }
    }
}

TYPED_TEST(NcclOperations, AllGather) {
    for (const auto count : counts) {
        const auto own = values_of<TypeParam>(this->me, count);
        std::vector<TypeParam> expected(count * this->size);
        const GpuVector<TypeParam> in(own);
        GpuVector<TypeParam> out(expected.size());
        this->mpi.all_gather(std::span<const TypeParam>(own), std::span(expected));
        this->nccl.all_gather(in.span(), out.span());
        EXPECT_TRUE(same_bits<TypeParam>(out.on_host(), expected)) << count;
    }
}

TYPED_TEST(NcclOperations, BroadcastFromEveryRank) {
    for (const auto count : counts) {
        for (int root = 0; root < this->ranks; ++root) {
            GpuVector<TypeParam> buffer(values_of<TypeParam>(this->me, count));
            this->nccl.broadcast(buffer.span(), root);
            EXPECT_TRUE(same_bits<TypeParam>(buffer.on_host(), values_of<TypeParam>(root, count)))
                << count << " from " << root;
        }
    }
}

TYPED_TEST(NcclOperations, AllToAll) {
    for (const auto count : counts) {
        const auto own = values_of<TypeParam>(this->me, count * this->size);
        std::vector<TypeParam> expected(own.size());
        const GpuVector<TypeParam> out(own);
        GpuVector<TypeParam> in(own.size());
        this->mpi.all_to_all(std::span<const TypeParam>(own), std::span(expected));
        this->nccl.all_to_all(out.span(), in.span());
        EXPECT_TRUE(same_bits<TypeParam>(in.on_host(), expected)) << count;
    }
}

TYPED_TEST(NcclOperations, AllToAllOfDifferentLengths) {
    const auto length = [](int from, int to, int round) {
        return static_cast<std::size_t>(from * 7919 + to * 104'729 + round * 31) % (round == 0 ? 3 : 5000);
    };
    for (int round = 0; round < 3; ++round) {
        std::vector<std::size_t> out_counts;
        std::vector<std::size_t> in_counts;
        std::size_t out_count = 0;
        std::size_t in_count = 0;
        for (int other = 0; other < this->ranks; ++other) {
            out_count += out_counts.emplace_back(length(this->me, other, round));
            in_count += in_counts.emplace_back(length(other, this->me, round));
        }
        const auto own = values_of<TypeParam>(this->me, out_count);
        std::vector<TypeParam> expected(in_count);
        const GpuVector<TypeParam> out(own);
        GpuVector<TypeParam> in(in_count);
        this->mpi.all_to_allv(std::span<const TypeParam>(own), out_counts, std::span(expected), in_counts);
        this->nccl.all_to_allv(out.span(), out_counts, in.span(), in_counts);
        EXPECT_TRUE(same_bits<TypeParam>(in.on_host(), expected)) << round;
    }
}

TYPED_TEST(NcclOperations, MessagesGoRound) {
    const int next = (this->me + 1) % this->ranks;
    const int previous = (this->me + this->ranks - 1) % this->ranks;
    for (const auto count : counts) {
        const GpuVector<TypeParam> own(values_of<TypeParam>(this->me, count));
        GpuVector<TypeParam> taken(count);
        auto sent = this->nccl.start_send(own.span(), next);
        this->nccl.receive(taken.span(), previous);
        sent.wait();
        EXPECT_TRUE(same_bits<TypeParam>(taken.on_host(), values_of<TypeParam>(previous, count))) << count;
    }
}

TEST_F(OverNccl, ManyThatWereStartedAndNoneLost) {
    constexpr int many = 200;
    std::vector<std::unique_ptr<GpuVector<float>>> buffers;
    std::vector<Request> requests;
    for (int i = 0; i < many; ++i) {
        buffers.push_back(
            std::make_unique<GpuVector<float>>(std::vector<float>(10, static_cast<float>(i + me))));
        requests.push_back(nccl.start_allreduce(buffers.back()->span()));
    }
    while (!requests[many / 2].test()) {
    }
    for (auto& request : requests) request.wait();
    for (int i = 0; i < many; ++i)
        EXPECT_EQ(buffers[static_cast<std::size_t>(i)]->on_host()[3],
                  static_cast<float>(i * ranks + ranks * (ranks - 1) / 2));
}

TEST_F(OverNccl, ARequestThatIsDroppedIsWaitedFor) {
    GpuVector<float> ones(std::vector<float>(100, 1.0F));
    { const auto dropped = nccl.start_allreduce(ones.span()); }
    EXPECT_EQ(ones.on_host()[99], static_cast<float>(ranks));
}

TEST_F(OverNccl, MessagesOfAllToOneInTheOrderInWhichTheyWereStarted) {
    std::vector<std::unique_ptr<GpuVector<int>>> taken;
    std::vector<Request> requests;
    const GpuVector<int> first(std::vector<int>{me * 10});
    const GpuVector<int> second(std::vector<int>{me * 10 + 1});
    if (me == 0)
        for (int i = 0; i < 2; ++i)
            for (int other = 1; other < ranks; ++other) {
                taken.push_back(std::make_unique<GpuVector<int>>(1));
                requests.push_back(nccl.start_receive(taken.back()->span(), other));
            }
    else
        for (const auto* one : {&first, &second}) requests.push_back(nccl.start_send(one->span(), 0));
    nccl.barrier();
    for (auto& request : requests) request.wait();
    for (std::size_t i = 0; i < taken.size(); ++i) {
        const auto others = size - 1;
        EXPECT_EQ(taken[i]->on_host()[0], static_cast<int>((i % others + 1) * 10 + i / others));
    }
}

TEST_F(OverNccl, BarriersCalledAndStarted) {
    nccl.barrier();
    auto started = nccl.start_barrier();
    while (!started.test()) {
    }
    EXPECT_TRUE(started.complete());
}

TEST_F(OverNccl, MemoryOfTheHostGoesOverMpi) {
    EXPECT_EQ(nccl.sum(std::int64_t{me + 1}), std::int64_t{ranks} * (ranks + 1) / 2);
    EXPECT_EQ(nccl.broadcast(std::string("rank ") + std::to_string(me), ranks - 1),
              "rank " + std::to_string(ranks - 1));
    EXPECT_EQ(nccl.all_gather(std::string(static_cast<std::size_t>(me), 'x')).back().size(), size - 1);
    std::vector<float> values(1000, 1.0F);
    nccl.allreduce(std::span(values));
    EXPECT_EQ(values.back(), static_cast<float>(ranks));
    EXPECT_EQ(nccl.rank(), mpi.rank());
    EXPECT_EQ(nccl.size(), mpi.size());
    EXPECT_EQ(nccl.node_rank(), mpi.node_rank());
}

TEST_F(OverNccl, PartsAndCopies) {
    const auto part = nccl.split(me % 2, -me);  // odd and even ranks, the last one first
    const int of_part = ranks / 2 + (me % 2 == 0 ? ranks % 2 : 0);
    EXPECT_EQ(part.size(), of_part);
    GpuVector<float> ones(std::vector<float>{1.0F});
    part.allreduce(ones.span());
    EXPECT_EQ(ones.on_host()[0], static_cast<float>(of_part));
    GpuVector<int> rank(std::vector<int>{me});
    part.broadcast(rank.span());
    const int last = ranks - 1 - (ranks - 1 - me) % 2;
    EXPECT_EQ(rank.on_host()[0], last);

    const auto copy = nccl.duplicate();
    GpuVector<float> own(std::vector<float>(5000, 1.0F));
    GpuVector<float> others(std::vector<float>(5000, 2.0F));
    auto one = nccl.start_allreduce(own.span());
    one.wait();
    copy.allreduce(others.span());
    EXPECT_EQ(own.on_host()[4999], static_cast<float>(ranks));
    EXPECT_EQ(others.on_host()[4999], 2.0F * static_cast<float>(ranks));
}

TEST_F(OverNccl, SubsetsAreMadeByTheirRanksAlone) {
    const int last = ranks - 1;
    if (me != 0 && me != last) return;
    const auto ends = ranks > 1 ? nccl.subset(std::vector{last, 0}, 3) : nccl.subset(std::vector{0}, 3);
    EXPECT_EQ(ends.rank(), me == last ? 0 : 1);
    GpuVector<float> ones(std::vector<float>{1.0F});
    ends.allreduce(ones.span());
    EXPECT_EQ(ones.on_host()[0], static_cast<float>(ends.size()));
}

TEST_F(OverNccl, AWaitHasALimit) {
    GpuVector<float> ones(std::vector<float>(100, 1.0F));
    auto sum = nccl.start_allreduce(ones.span());
    while (!sum.wait_for(std::chrono::milliseconds(1))) {
    }
    EXPECT_TRUE(sum.complete());
    EXPECT_EQ(ones.on_host()[99], static_cast<float>(ranks));
}

TEST_F(OverNccl, AllocatedMemoryIsZeroedAndSummed) {
    const auto shared = nccl.allocate((1000 + static_cast<std::size_t>(me)) * sizeof(float));
    const auto values = shared.as<float>();
    ASSERT_EQ(values.size(), 1000 + static_cast<std::size_t>(me));
    EXPECT_TRUE(shared.reaches(me));
    EXPECT_EQ(shared.reaches(me == 0 ? 1 : 0), false);
    std::vector<float> on_host(values.size(), -1.0F);
    cudaMemcpy(on_host.data(), values.data(), values.size_bytes(), cudaMemcpyDeviceToHost);
    EXPECT_THAT(on_host, testing::Each(0.0F));
    on_host.assign(values.size(), 2.0F);
    cudaMemcpy(values.data(), on_host.data(), values.size_bytes(), cudaMemcpyHostToDevice);
    nccl.allreduce(values.first(1000));
    cudaMemcpy(on_host.data(), values.data(), values.size_bytes(), cudaMemcpyDeviceToHost);
    EXPECT_EQ(on_host[999], 2.0F * static_cast<float>(ranks));
}

TEST_F(OverNccl, WhatNcclHasNotIsRefusedByName) {
    GpuVector<float> values(10);
    EXPECT_THAT(tests::message_of<NcclError>(
                    [&] { nccl.reduce_shards(values.span(), [](std::size_t, std::span<float>) {}); }),
                HasSubstr("reduce_shards"));
    EXPECT_THAT(tests::message_of<NcclError>([&] { nccl.send(std::span<const float>(values.span()), 0, 3); }),
                HasSubstr("send with tag 3: NCCL has no tags"));
    std::vector<float> on_host(10 * size);
    EXPECT_THAT(tests::message_of<NcclError>(
                    [&] { nccl.all_gather(std::span<const float>(values.span()), std::span(on_host)); }),
                HasSubstr("all_gather between memory of the host and of the GPU"));
    EXPECT_THAT(tests::message_of<NcclError>([&] { (void)nccl.receive_any(values.span()); }),
                HasSubstr("NCCL has no receive_any"));
    GpuVector<std::int32_t> integers(10);
    EXPECT_THAT(tests::message_of<NcclError>([&] { nccl.allreduce(integers.span(), Reduction::bit_xor); }),
                HasSubstr("allreduce (bit_xor) of memory of the GPU: NCCL does not combine bits"));
    GpuVector<std::uint16_t> narrow(10);
    EXPECT_THAT(tests::message_of<NcclError>([&] { nccl.allreduce(narrow.span()); }),
                HasSubstr("allreduce of uint16 in memory of the GPU: NCCL has no integers of 16 bits"));
    EXPECT_THAT(tests::message_of<NcclError>([&] { nccl.receive(values.span(), me); }),
                HasSubstr("a message of a rank to itself"));
    nccl.barrier();  // life goes on
}

}  // namespace
}  // namespace dtrain
