// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the order that gpu.hpp promises. The values are the test's own: each order of copies that breaks a
// promise gives others.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include <gmock/gmock.h>

#include "gpu/a_gpu.hpp"
#include "kernels/host_copy.hpp"

namespace dtrain {
namespace {

using testing::Each;
using testing::ElementsAre;

class Gpu : public tests::OnAGpu {
  protected:
    using Four = std::array<int, 4>;
    static constexpr std::size_t bytes = sizeof(Four);

    Four& host(const kernels::Gpu::Memory& memory) { return *reinterpret_cast<Four*>(memory.get()); }

    Four read(const kernels::Gpu::Memory& memory) {
        Four values{};
        gpu->to_host(values.data(), memory.get(), bytes);
        gpu->finish();
        return values;
    }
};

TEST_F(Gpu, HasAName) {
    EXPECT_THAT(gpu->description(), testing::StartsWith("GPU 0, "));
}

TEST_F(Gpu, MemoryIsZeroAndAligned) {
    for (const std::size_t size : {0, 1, 16, 1000}) {
        const auto memory = gpu->allocate(size);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 256, 0U);
    }
    EXPECT_THAT(read(gpu->allocate(bytes)), Each(0));
    const auto on_host = gpu->allocate_host(bytes);
    EXPECT_THAT(host(on_host), Each(0));
}

TEST_F(Gpu, CopiesInOrder) {
    const auto a = gpu->allocate(bytes);
    const auto b = gpu->allocate(bytes);
    const auto first = gpu->allocate_host(bytes);
    const auto second = gpu->allocate_host(bytes);
    host(first) = {1, 2, 3, 4};
    host(second) = {5, 6, 7, 8};
    gpu->to_gpu(a.get(), first.get(), bytes);
    gpu->copy(b.get(), a.get(), bytes);
    gpu->to_gpu(a.get(), second.get(), bytes);
    EXPECT_THAT(read(b), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(read(a), ElementsAre(5, 6, 7, 8));
}

TEST_F(Gpu, PartsOfACopyOnTheHostAreThoseOfTheGpusMemory) {
    const auto memory = gpu->allocate(bytes);
    const std::span device(reinterpret_cast<int*>(memory.get()), 4);
    const kernels::HostCopy copy(gpu, std::as_bytes(device));
    const auto on_host = copy.on_host(device);
    std::ranges::copy(Four{1, 2, 3, 4}, on_host.begin());
    copy.upload(device.subspan(1, 2));
    EXPECT_THAT(read(memory), ElementsAre(0, 2, 3, 0));

    std::ranges::copy(Four{5, 6, 7, 8}, on_host.begin());
    copy.download(device.first(2));
    copy.finish();
    EXPECT_THAT(on_host, ElementsAre(0, 2, 7, 8));
    EXPECT_EQ(copy.on_host(device.subspan(3)).data(), &on_host[3]);
}

TEST_F(Gpu, AnotherViewOfACopyIsOfTheSameMemory) {
    const auto memory = gpu->allocate(bytes);
    const TensorView device{memory.get(), {2, 2}, DataType::int32};
    const kernels::HostCopy copy(gpu, device);
    const auto on_host = copy.on_host(device);
    EXPECT_EQ(on_host.shape, device.shape);
    std::ranges::copy(Four{1, 2, 3, 4}, on_host.as<std::int32_t>().begin());
    copy.upload(device);
    EXPECT_THAT(read(memory), ElementsAre(1, 2, 3, 4));
}

TEST_F(Gpu, WhatIsRecordedIsDoneAtEachRunAndNotBefore) {
    const auto a = gpu->allocate(bytes);
    const auto b = gpu->allocate(bytes);
    const auto input = gpu->allocate_host(bytes);
    const auto step = gpu->captured([&] {
        gpu->to_gpu(a.get(), input.get(), bytes);
        gpu->copy(b.get(), a.get(), bytes);
    });
    host(input) = {1, 1, 1, 1};
    EXPECT_THAT(read(b), Each(0));
    for (const int value : {2, 3}) {
        host(input).fill(value);
        step->run();
        EXPECT_THAT(read(b), Each(value));
    }
}

TEST_F(Gpu, ARecordingThatFailsLeavesTheGpuUsable) {
    EXPECT_THROW(gpu->captured([] { throw Error("no kernel"); }), Error);
    const auto a = gpu->allocate(bytes);
    const auto input = gpu->allocate_host(bytes);
    host(input) = {1, 2, 3, 4};
    gpu->to_gpu(a.get(), input.get(), bytes);
    EXPECT_THAT(read(a), ElementsAre(1, 2, 3, 4));
}

// The next batch goes into the area that the step before still reads.
TEST_F(Gpu, UploadsWaitForWhatReadsThem) {
    const auto area = gpu->allocate(bytes);
    const std::array results{gpu->allocate(bytes), gpu->allocate(bytes), gpu->allocate(bytes)};
    const auto batch = gpu->allocate_host(bytes);
    const auto uploads = gpu->uploads();
    for (int step = 0; step < 3; ++step) {
        host(batch).fill(step + 1);
        uploads->to_gpu(area.get(), batch.get(), bytes);
        uploads->take();
        gpu->copy(results[static_cast<std::size_t>(step)].get(), area.get(), bytes);
        uploads->release();
        uploads->finish();
    }
    EXPECT_THAT(read(results[0]), Each(1));
    EXPECT_THAT(read(results[1]), Each(2));
    EXPECT_THAT(read(results[2]), Each(3));
}

TEST_F(Gpu, AnOperatorWithoutKernelIsNamed) {
    EXPECT_FALSE(gpu->has_kernel("dance"));
    try {
        gpu->make_kernel("dance", {});
        ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "there is no GPU kernel for the operator 'dance': compute on the CPU");
    }
}

TEST_F(Gpu, MoreThanItsMemoryIsRefused) {
    if (gpu->description().ends_with("this processor"))
        GTEST_SKIP() << "the stand-in has no memory of its own";
    EXPECT_THROW(gpu->allocate(std::size_t{1} << 50U), Error);
    gpu->finish();
}

TEST(NoGpu, ANumberThatThereIsNot) {
    EXPECT_THROW(kernels::open_gpu(99), UsageError);
}

}  // namespace
}  // namespace dtrain
