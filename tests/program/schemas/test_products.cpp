// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the same classifier computed with float32. Rounding to 8 bits changes each factor by 2^-9 at most,
// and these errors have either sign: gradients move by a few times that, and what is learned from them is as
// good. What products of rounded factors are, exactly, tests/kernels looks at.
#include <cmath>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "program/runtime/classifier.hpp"
#include "support/on_gpu.hpp"

namespace dtrain {
namespace {

State trained(ComputeType products, std::size_t steps) {
    auto made = make_classifier(32, "tanh");
    minimize(made.program, made.cross_entropy.loss, Sgd{.learning_rate = 1});
    State state(made.program, 9);
    Executor executor(made.program, state, {}, {.threads = 1, .products = products});
    for (std::size_t step = 0; step < steps; ++step) {
        feed_samples(executor, 32 * step);
        executor.run();
    }
    return state;
}

/// The length of a - b.
double distance(const StateTensor& a, const StateTensor& b) {
    const auto of_a = a.view.as<float>();
    const auto of_b = b.view.as<float>();
    double squares = 0;
    for (std::size_t i = 0; i < of_a.size(); ++i)
        squares += std::pow(static_cast<double>(of_a[i]) - of_b[i], 2);
    return std::sqrt(squares);
}

class Products : public testing::Test {
  protected:
    void SetUp() override {
        if (!tests::executors_are_on_a_gpu() && !has_bfloat16_products())
            GTEST_SKIP() << "this CPU has neither AVX512-BF16 nor AMX";
    }
};

// With a rate of 1 a step of SGD moves a parameter by its gradient.
TEST_F(Products, OfBfloat16GiveNearlyTheGradients) {
    const auto beginning = trained(ComputeType::float32, 0);
    const auto exact = trained(ComputeType::float32, 1);
    const auto rounded = trained(ComputeType::bfloat16, 1);
    ASSERT_EQ(exact.tensors().size(), 6U);
    for (std::size_t i = 0; i < exact.tensors().size(); ++i) {
        const auto& tensor = exact.tensors()[i];
        const auto gradient = distance(tensor, beginning.tensors()[i]);
        const auto moved = distance(tensor, rounded.tensors()[i]);
        EXPECT_LT(moved, 0.02 * gradient) << tensor.name;
        EXPECT_GT(moved, 0.0001 * gradient) << tensor.name << ": nothing was rounded";
    }
}

TEST_F(Products, OfBfloat16RepeatBitForBit) {
    const auto once = parameters_checksum(trained(ComputeType::bfloat16, 5));
    EXPECT_EQ(once, parameters_checksum(trained(ComputeType::bfloat16, 5)));
    EXPECT_NE(once, parameters_checksum(trained(ComputeType::float32, 5)));
}

TEST_F(Products, OfBfloat16Teach) {
    auto made = make_classifier(50);
    const auto accuracy = layers::accuracy(made.program, made.logits, "label");
    const auto test_program = for_test(made.program, {accuracy});
    minimize(made.program, made.cross_entropy.loss, Adam{.learning_rate = 0.002});
    const State state(made.program, 1);
    Executor train(made.program, state, {}, {.products = ComputeType::bfloat16});
    Executor test(test_program, state);
    for (std::size_t first = 0; first < 10'000; first += 50) {
        feed_samples(train, first % 1000);
        train.run();
    }
    feed_samples(test, 5000);
    test.run();
    EXPECT_GT(test.fetch_scalar(accuracy), 0.95F) << "what float32 reaches, see test_executor.cpp";
}

// The test starts itself again, so that oneDNN has not looked at the variable yet.
TEST(ProductsDeathTest, OfBfloat16AreRefusedWithoutTheInstructions) {
    if (tests::executors_are_on_a_gpu()) GTEST_SKIP() << "a GPU needs none of the CPU's instructions";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto refused = [] {
        setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
        try {
            trained(ComputeType::bfloat16, 0);
        } catch (const UsageError& error) {
            std::fprintf(stderr, "%s\n", error.what());
            std::exit(3);
        }
        std::exit(0);
    };
    EXPECT_EXIT(refused(), testing::ExitedWithCode(3),
                "^ExecutorOptions::products is bfloat16: (the CPU has neither AVX512-BF16 nor AMX|dtrain was "
                "built without oneDNN); leave it float32\n$");
}

}  // namespace
}  // namespace dtrain
