// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the same blocks on the CPU, within the tolerance that docs/gpu.md states; what an update copies to
// a GPU and back, counted by hand: the gradients of every source once, the values once and only when they are
// read, and nothing of what the optimizer keeps.
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include <dtrain/state_checkpoints.hpp>

#include "gpu/a_gpu.hpp"
#include "program/state/state_access.hpp"
#include "ps/small_server.hpp"

namespace dtrain::ps {
namespace {

constexpr int sources = 3;
constexpr std::size_t floats = 101 * 64;  // of all blocks; each of them is whole cache lines

DensePart one_layer(const Device& device) {
    Program program;
    const auto x = layers::data(program, "x", {4, 100});
    minimize(program, layers::reduce_sum(program, layers::fc(program, x, 64, {.name = "fc"})), Adam{0.01},
             {.schedule = LearningRateSchedule{ExponentialDecay{0.01, 2, 0.5}}});
    DistributeTranspiler transpiler;
    transpiler.transpile(program, {.pservers = "a:1", .trainers = sources});
    std::vector<VariableBlock> blocks;
    for (const auto& placement : transpiler.placements()) blocks.push_back(placement.block);
    return {transpiler.get_pserver_program("a:1"), blocks, sources, 1, 1, device};
}

void push(DensePart& dense, int step, std::uint32_t steps = 1) {
    std::vector<float> gradient(dense.size());
    for (int source = 0; source < sources; ++source) {
        for (std::size_t i = 0; i < gradient.size(); ++i)
            gradient[i] =
                static_cast<float>(static_cast<int>((i * 7 + static_cast<std::size_t>(step)) % 11) - 5) *
                static_cast<float>(source + 1);
        dense.clear_gradient(source);
        dense.set_gradient(source, 0, std::span(gradient).first(6000));
        dense.set_gradient(source, 6000, std::span(gradient).subspan(6000));
    }
    dense.update(steps);
}

std::vector<float> values_of(DensePart& dense) {
    std::vector<float> values(dense.size());
    dense.read(0, values);
    return values;
}

std::int64_t counted(DensePart& dense, const char* counter) {
    return dense.state().find(counter)->view.as<std::int64_t>()[0];
}

/// 0.01, halved every two steps of trainers: see one_layer().
double rate_at(int steps) {
    return 0.01 * std::pow(0.5, steps / 2.0);
}

void expect_schedules_to_count_steps(const Device& device) {
    auto dense = one_layer(device);
    int before = 0;
    for (const std::uint32_t steps : {1U, 3U, 1U, 2U}) {
        push(dense, 0, steps);
        EXPECT_NEAR(dense.number("learning_rate"), rate_at(before), 1e-8) << "of the first of them";
        before += static_cast<int>(steps);
    }
    EXPECT_EQ(counted(dense, "learning_rate.step"), 7);
    EXPECT_EQ(counted(dense, "adam.step"), 4) << "updates: its moments decay once in each";
    push(dense, 0);
    EXPECT_NEAR(dense.number("learning_rate"), rate_at(7), 1e-8);
}

TEST(DensePart, SchedulesCountTheStepsOfAPushAndAdamItsUpdates) {
    expect_schedules_to_count_steps(Device::cpu());
}

// By hand: a constant gradient g makes each of Adam's first updates rate * sign(g), whatever steps it was of.
TEST(DensePart, AdamsFirstUpdateOfManyStepsIsAWholeOne) {
    auto one = one_layer(Device::cpu());
    auto several = one_layer(Device::cpu());
    push(one, 0);
    push(several, 0, 5);
    EXPECT_EQ(values_of(one), values_of(several));
}

class DenseOnAGpu : public tests::OnAGpu {
  protected:
    static kernels::Gpu::Given given(const DensePart& dense) {
        return program::StateAccess::on_gpu(dense.state())->gpu()->given();
    }

    /// What is copied while `act` goes on.
    template <class Act>
    static kernels::Gpu::Given copied(const DensePart& dense, const Act& act) {
        const auto before = given(dense);
        act();
        auto after = given(dense);
        after.up = {after.up.count - before.up.count, after.up.bytes - before.up.bytes};
        after.down = {after.down.count - before.down.count, after.down.bytes - before.down.bytes};
        return after;
    }
};

TEST_F(DenseOnAGpu, SchedulesCountTheStepsOfAPush) {
    expect_schedules_to_count_steps(Device::gpu(0));
}

TEST_F(DenseOnAGpu, HasTheValuesOfTheCpu) {
    auto on_cpu = one_layer(Device::cpu());
    auto on_gpu = one_layer(Device::gpu(0));
    EXPECT_EQ(on_cpu.device(), "CPU");
    EXPECT_THAT(on_gpu.device(), testing::StartsWith("GPU 0, "));
    EXPECT_EQ(on_gpu.state_bytes(), on_cpu.state_bytes());
    ASSERT_EQ(on_gpu.size(), floats);
    EXPECT_EQ(values_of(on_gpu), values_of(on_cpu)) << "before the first update";
    for (int step = 0; step < 10; ++step) {
        push(on_cpu, step);
        push(on_gpu, step);
        const auto expected = values_of(on_cpu);
        const auto values = values_of(on_gpu);
        for (std::size_t i = 0; i < floats; ++i)
            ASSERT_NEAR(values[i], expected[i], 5e-5) << step << ' ' << i;
        std::vector<float> part(50);
        on_gpu.read(6375, part);
        EXPECT_EQ(part, std::vector<float>(values.begin() + 6375, values.begin() + 6425));
        EXPECT_NEAR(on_gpu.number("learning_rate"), on_cpu.number("learning_rate"), 1e-7);
    }
}

TEST_F(DenseOnAGpu, CopiesGradientsOnceAndValuesWhenTheyAreRead) {
    auto dense = one_layer(Device::gpu(0));
    push(dense, 0);
    values_of(dense);

    auto copies = copied(dense, [&] { push(dense, 1); });
    EXPECT_EQ(copies.up.count, 1U);
    EXPECT_EQ(copies.up.bytes, sources * floats * sizeof(float));
    EXPECT_EQ(copies.down.count, 0U) << "nobody has read";

    copies = copied(dense, [&] {
        values_of(dense);
        values_of(dense);
        std::vector<float> part(7);
        dense.read(100, part);
    });
    EXPECT_EQ(copies.up.count, 0U);
    EXPECT_EQ(copies.down.count, 1U);
    EXPECT_EQ(copies.down.bytes, floats * sizeof(float)) << "without what Adam keeps";

    copies = copied(dense, [&] {
        for (int step = 2; step < 5; ++step) push(dense, step);
        values_of(dense);
    });
    EXPECT_EQ(copies.up.bytes, 3 * sources * floats * sizeof(float));
    EXPECT_EQ(copies.down.bytes, floats * sizeof(float));
}

TEST_F(DenseOnAGpu, IsNotCopiedThereAgainAfterASave) {
    auto dense = one_layer(Device::gpu(0));
    push(dense, 0);
    (void)to_checkpoint(dense.state());
    const auto copies = copied(dense, [&] { push(dense, 1); });
    EXPECT_EQ(copies.up.bytes, sources * floats * sizeof(float));
}

TEST_F(DenseOnAGpu, ShowsWhatWasSet) {
    auto dense = one_layer(Device::gpu(0));
    push(dense, 0);
    values_of(dense);
    for (const auto& tensor : dense.mutable_state().tensors())
        if (tensor.role == Role::parameter) std::ranges::fill(tensor.view.as<float>(), 3.0F);
    EXPECT_THAT(values_of(dense), testing::Each(3.0F));
}

}  // namespace
}  // namespace dtrain::ps
