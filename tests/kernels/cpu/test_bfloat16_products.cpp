// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the same operators in double precision, which are plain loops and are checked elsewhere, over the
// factors rounded to bfloat16 by a formula of ours. The sums are float32: in numbers up to 1 they are
// 3e-6 sqrt(terms) from that, as those of the float32 operators are from theirs. Not rounding moves a result
// by about 1e-3 sqrt(terms), so results of a mode that does nothing fail; the float32 operators show it.
#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <dtrain/half.hpp>

#include "kernels/kernel.hpp"

namespace dtrain::kernels {
namespace {

struct Tensor {
    std::string slot;
    Shape shape;
    bool is_of_products = true;  ///< a factor, which is rounded, or a sum of such products
};

/// An operator and what it is given.
struct Case {
    std::string type;
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
    Attributes attributes;
    double terms;  ///< of the longest sum
};

using Results = std::vector<std::vector<double>>;

std::vector<float> noise(const Shape& shape, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
    for (auto& value : values) value = uniform(random);
    return values;
}

template <class Real>
Results results_of(const Case& what, ComputeType products, bool rounds) {
    const auto type = data_type_of<Real>;
    std::vector<std::vector<Real>> memory;
    memory.reserve(what.inputs.size() + what.outputs.size());
    KernelArguments arguments{{}, {}, what.attributes};
    arguments.products = products;
    for (const auto& [slot, shape, is_of_products] : what.inputs) {
        auto& values = memory.emplace_back();
        for (const auto value : noise(shape, static_cast<unsigned>(memory.size())))
            values.push_back(
                static_cast<Real>(rounds && is_of_products ? static_cast<float>(bfloat16(value)) : value));
        arguments.inputs.push_back({slot, {values.data(), shape, type}});
    }
    for (const auto& [slot, shape, is_of_products] : what.outputs) {
        auto& values = memory.emplace_back(static_cast<std::size_t>(element_count(shape)), Real{99});
        arguments.outputs.push_back({slot, {values.data(), shape, type}});
    }
    const auto kernel = make_cpu_kernel(what.type, arguments);
    for (int round = 0; round < 2; ++round) kernel->run();  // a second run must not add to the first
    Results results;
    for (auto out = memory.begin() + static_cast<std::ptrdiff_t>(what.inputs.size()); out != memory.end();
         ++out)
        results.emplace_back(out->begin(), out->end());
    return results;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
    return largest;
}

void check(const Case& what) {
    const auto rounded = results_of<float>(what, ComputeType::bfloat16, false);
    const auto exact = results_of<double>(what, ComputeType::float32, true);
    const auto unrounded = results_of<float>(what, ComputeType::float32, false);
    const auto tolerance = 3e-6 * std::sqrt(what.terms);
    for (std::size_t i = 0; i < rounded.size(); ++i) {
        const auto about = what.type + " " + what.outputs[i].slot + " " + to_string(what.outputs[i].shape);
        if (what.outputs[i].is_of_products) {
            EXPECT_LT(largest_difference(rounded[i], exact[i]), tolerance) << about;
            EXPECT_GT(largest_difference(rounded[i], unrounded[i]), 5 * tolerance) << about;
        } else {
            EXPECT_EQ(rounded[i], unrounded[i]) << about;
        }
    }
}

class Bfloat16Products : public testing::Test {
  protected:
    void SetUp() override {
        if (!has_bfloat16_products()) GTEST_SKIP() << "this CPU has neither AVX512-BF16 nor AMX";
    }
};

struct Sizes {
    std::int64_t batch, inputs, outputs;
};
const std::vector<Sizes> sizes{{64, 784, 128}, {5, 33, 7}, {17, 100, 10}, {3, 64, 1}, {256, 10, 100}};

TEST_F(Bfloat16Products, FcAndItsGradients) {
    for (const auto& [batch, inputs, outputs] : sizes) {
        const Shape x{batch, inputs}, weight{inputs, outputs}, bias{outputs}, out{batch, outputs};
        for (const auto* activation : {"", "tanh"})
            check({"fc",
                   {{"x", x}, {"weight", weight}, {"bias", bias, false}},
                   {{"out", out}},
                   {{"activation", std::string(activation)}},
                   static_cast<double>(inputs)});
        check({"fc_grad_input",
               {{"out@grad", out}, {"weight", weight}},
               {{"x@grad", x}},
               {},
               static_cast<double>(outputs)});
        check({"fc_grad_weight",
               {{"x", x}, {"out@grad", out}},
               {{"weight@grad", weight}, {"bias@grad", bias, false}},
               {},
               static_cast<double>(batch)});
    }
}

TEST_F(Bfloat16Products, MatmulOfTransposes) {
    for (const auto& [m, k, n] : sizes)
        for (const std::int64_t x : {0, 1})
            for (const std::int64_t y : {0, 1})
                check({"matmul",
                       {{"x", x != 0 ? Shape{k, m} : Shape{m, k}}, {"y", y != 0 ? Shape{n, k} : Shape{k, n}}},
                       {{"out", {m, n}}},
                       {{"transpose_x", x}, {"transpose_y", y}},
                       static_cast<double>(k)});
}

TEST_F(Bfloat16Products, ConvolutionAndItsGradients) {
    struct Image {
        Shape x, filter, out, stride, padding;
    };
    const std::vector<Image> images{
        {{2, 3, 5, 6}, {4, 3, 3, 2}, {2, 4, 3, 5}, {1, 1}, {0, 0}},
        {{2, 3, 5, 6}, {4, 3, 3, 3}, {2, 4, 3, 3}, {2, 2}, {1, 1}},
        {{1, 2, 7, 5}, {3, 2, 1, 4}, {1, 3, 3, 6}, {3, 1}, {0, 2}},
        {{2, 16, 9, 9}, {32, 16, 3, 3}, {2, 32, 9, 9}, {1, 1}, {1, 1}},
    };
    for (const auto& [x, filter, out, stride, padding] : images) {
        const Attributes window{{"stride", stride}, {"padding", padding}};
        const Shape bias{filter[0]};
        const auto seen = static_cast<double>(filter[1] * filter[2] * filter[3]);
        const auto positions = static_cast<double>(out[0] * out[2] * out[3]);
        check(
            {"conv2d", {{"x", x}, {"filter", filter}, {"bias", bias, false}}, {{"out", out}}, window, seen});
        check({"conv2d_grad_input",
               {{"out@grad", out}, {"filter", filter}},
               {{"x@grad", x}},
               window,
               static_cast<double>(filter[0] * filter[2] * filter[3])});
        check({"conv2d_grad_filter",
               {{"x", x}, {"out@grad", out}},
               {{"filter@grad", filter}, {"bias@grad", bias}},
               window,
               positions});
    }
}

}  // namespace
}  // namespace dtrain::kernels
