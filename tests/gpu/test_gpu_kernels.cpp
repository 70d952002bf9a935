// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the CPU's kernels with the same arguments (their own tests have other oracles). What may differ, by
// rounding and by the order of sums: 3e-6 (float32) and 1e-13 (float64) of a result and of the largest one of
// its tensor, times what a case says. Each kernel runs twice, the second time out of a graph.
#include <bit>
#include <set>

#include <gmock/gmock.h>

#include <dtrain/half.hpp>

#include "gpu/a_gpu.hpp"
#include "gpu/operator_case.hpp"
#include "gpu/operators/float16.hpp"

namespace dtrain {
namespace {

using tests::OperatorCases;

class GpuKernels : public tests::OnAGpu {
  protected:
    void expect_all(const OperatorCases& cases) {
        for (const auto& operator_case : cases) {
            tests::expect_as_on_cpu(*gpu, operator_case);
            if (HasFatalFailure()) return;
        }
    }
    void expect_both(OperatorCases (*cases)(DataType)) {
        for (const auto real : {DataType::float32, DataType::float64}) expect_all(cases(real));
    }
};

TEST_F(GpuKernels, ElementByElement) {
    expect_both(tests::element_cases);
}

TEST_F(GpuKernels, RowByRowAndSums) {
    expect_both(tests::row_cases);
}

TEST_F(GpuKernels, Layers) {
    expect_both(tests::layer_cases);
}

TEST_F(GpuKernels, Images) {
    expect_both(tests::image_cases);
}

TEST_F(GpuKernels, TablesAndParts) {
    expect_both(tests::table_cases);
}

TEST_F(GpuKernels, Updates) {
    expect_both(tests::update_cases);
}

TEST_F(GpuKernels, LossScaling) {
    expect_all(tests::loss_scaling_cases());
}

// Of every 1009th float of either sign; half.hpp has tests of its own.
TEST(GpuFloat16, RoundsAsThatOfTheCpu) {
    for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += 1009) {
        const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        const float16 expected(value);
        ASSERT_EQ(gpu::float16_bits(value), expected.bits) << bits;
        ASSERT_EQ(std::bit_cast<std::uint32_t>(gpu::as_float16(value)),
                  std::bit_cast<std::uint32_t>(static_cast<float>(expected)))
            << bits;
    }
}

TEST_F(GpuKernels, Schedules) {
    expect_all(tests::schedule_cases());
}

TEST_F(GpuKernels, Auc) {
    expect_both(tests::auc_cases);
}

std::set<std::string> types_of_cases() {
    std::set<std::string> types;
    for (const auto& cases :
         {tests::element_cases(DataType::float32), tests::row_cases(DataType::float32),
          tests::layer_cases(DataType::float32), tests::image_cases(DataType::float32),
          tests::table_cases(DataType::float32), tests::update_cases(DataType::float32),
          tests::loss_scaling_cases(), tests::schedule_cases(), tests::auc_cases(DataType::float32)})
        for (const auto& operator_case : cases) types.insert(operator_case.type);
    return types;
}

// A new operator gets a GPU kernel with a case, or is named here with the reason.
TEST_F(GpuKernels, OperatorsWithout) {
    std::vector<std::string_view> without;
    for (const auto type : kernels::cpu_operators())
        if (!gpu->has_kernel(type)) without.push_back(type);
    EXPECT_THAT(without, testing::IsEmpty());
}

TEST_F(GpuKernels, AllHaveACase) {
    const auto types = types_of_cases();
    for (const auto type : kernels::cpu_operators()) {
        if (gpu->has_kernel(type)) {
            EXPECT_TRUE(types.contains(std::string(type))) << type;
        }
    }
    for (const auto& type : types) EXPECT_TRUE(gpu->has_kernel(type)) << type;
}

TEST_F(GpuKernels, APartOfAParameterIsRefused) {
    float number = 0;
    const TensorView tensor{&number, {1}};
    const kernels::ElementRange part{0, 1};
    const kernels::KernelArguments arguments{{{"parameter", tensor}, {"gradient", tensor}},
                                             {{"parameter", tensor}, {"out", tensor}},
                                             {{"learning_rate", 0.1}, {"coefficient", 0.1}},
                                             &part};
    for (const std::string type :
         {"sgd", "momentum", "adagrad", "adam", "adamw", "ftrl", "l1_decay", "l2_decay"}) {
        try {
            gpu->make_kernel(type, arguments);
            ADD_FAILURE() << type;
        } catch (const Error& error) {
            EXPECT_EQ(error.what(),
                      "the operator '" + type + "' has no GPU kernel that updates a part of a parameter");
        }
    }
}

}  // namespace
}  // namespace dtrain
