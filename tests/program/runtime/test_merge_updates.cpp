// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the same updates one by one.
#include <array>

#include <gtest/gtest.h>

#include "program/passes/aligned_memory.hpp"
#include "program/runtime/merge_updates.hpp"

namespace dtrain::program {
namespace {

using kernels::KernelArguments;

/// Memory of 1024 floats, and tensors in it.
class Block {
  public:
    TensorView at(std::size_t offset, std::int64_t size) {
        return {floats() + offset, {size}, DataType::float32};
    }
    float* floats() { return reinterpret_cast<float*>(memory_.get()); }

  private:
    AlignedMemory memory_ = make_memory(4096);
};

KernelArguments sgd(const TensorView& parameter, const TensorView& gradient) {
    return {{{"parameter", parameter}, {"gradient", gradient}},
            {{"parameter", parameter}},
            {{"learning_rate", 0.5}}};
}

TEST(MergeUpdates, NeighboursBecomeOneInAnyOrder) {
    Block p;
    Block g;
    const auto merged = merge_updates({sgd(p.at(32, 10), g.at(32, 10)), sgd(p.at(0, 20), g.at(0, 20))});
    ASSERT_EQ(merged.size(), 1U);
    EXPECT_EQ(merged[0].input("parameter").data, p.floats());
    EXPECT_EQ(merged[0].output("parameter").shape, Shape{42});
    EXPECT_EQ(merged[0].input("gradient").shape, Shape{42});
    for (const std::size_t i : {0U, 19U, 32U, 41U}) g.floats()[i] = 2;
    kernels::make_cpu_kernel("sgd", merged[0])->run();
    for (std::size_t i = 0; i < 50; ++i)
        EXPECT_EQ(p.floats()[i], i == 0 || i == 19 || i == 32 || i == 41 ? -1 : 0) << i;
}

TEST(MergeUpdates, AGapInAnyTensorKeepsThemApart) {
    Block p;
    Block g;
    EXPECT_EQ(merge_updates({sgd(p.at(0, 16), g.at(0, 16)), sgd(p.at(16, 16), g.at(32, 16))}).size(), 2U);
    EXPECT_EQ(merge_updates({sgd(p.at(0, 16), g.at(0, 16)), sgd(p.at(48, 16), g.at(16, 16))}).size(), 2U);
    EXPECT_EQ(merge_updates({sgd(p.at(0, 16), g.at(0, 16)), sgd(p.at(16, 16), g.at(16, 16))}).size(), 1U);
}

TEST(MergeUpdates, WhatAllShareStaysAsItIs) {
    Block p;
    Block g;
    std::array<std::int64_t, 1> step{3};
    const TensorView shared{step.data(), {1}, DataType::int64};
    auto a = sgd(p.at(0, 16), g.at(0, 16));
    auto b = sgd(p.at(16, 16), g.at(16, 16));
    for (auto* each : {&a, &b}) each->inputs.push_back({"step", shared});
    const auto merged = merge_updates({a, b});
    ASSERT_EQ(merged.size(), 1U);
    EXPECT_EQ(merged[0].input("step").shape, Shape{1});
    EXPECT_EQ(merged[0].input("parameter").shape, Shape{32});
}

TEST(MergeUpdates, RowsAreNumbersWithinTheirOwnParameter) {
    Block p;
    Block g;
    constexpr std::size_t listed = 8;
    alignas(64) std::array<std::int64_t, 2 * listed> rows{};
    auto a = sgd(p.at(0, 16), g.at(0, 16));
    auto b = sgd(p.at(16, 16), g.at(16, 16));
    a.inputs.push_back({"rows", {rows.data(), {listed}, DataType::int64}});
    b.inputs.push_back({"rows", {rows.data() + listed, {listed}, DataType::int64}});
    EXPECT_EQ(merge_updates({a, b}).size(), 2U);
}

}  // namespace
}  // namespace dtrain::program
