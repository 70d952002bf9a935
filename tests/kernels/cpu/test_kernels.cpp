// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the same formulas as plain loops in double precision with <cmath>.
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/kernel.hpp"
#include "kernels/loops/element_loops.hpp"
#include "kernels/loops/loops.hpp"

namespace dtrain::kernels {
namespace {

using testing::HasSubstr;

std::vector<float> noise(std::size_t count, float limit = 2.0F, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-limit, limit);
    std::vector<float> values(count);
    for (auto& value : values) value = uniform(random);
    return values;
}

// Lengths below, at and above the width of vectors and of the partial sums.
const std::vector<std::size_t> lengths{1, 7, 8, 31, 32, 33, 100, 1000};

TensorView view(std::vector<float>& values, Shape shape) {
    return {values.data(), std::move(shape)};
}

TensorView view(std::vector<std::int64_t>& values, Shape shape) {
    return {values.data(), std::move(shape), DataType::int64};
}

void run(std::string_view type, const std::vector<const float*>& inputs, float* out, std::size_t n) {
    loops::element_loop<float>(type)(inputs.data(), out, n);
}

struct PlainLoop {
    const char* type;
    double (*exact)(double);
};

TEST(Loops, Activations) {
    const std::vector<PlainLoop> all{
        {"relu", [](double x) { return x > 0 ? x : 0; }},
        {"tanh", [](double x) { return std::tanh(x); }},
        {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    };
    for (const auto& [type, exact] : all) {
        for (const auto n : lengths) {
            const auto x = noise(n, 12.0F, static_cast<unsigned>(n));
            std::vector<float> y(n);
            run(type, {x.data()}, y.data(), n);
            for (std::size_t i = 0; i < n; ++i)
                ASSERT_NEAR(y[i], exact(x[i]), 4e-7 * std::fabs(exact(x[i])) + 1e-30) << x[i];
        }
    }
}

TEST(Loops, ActivationsKeepTheirLimits) {
    const std::vector<float> x{-1e30F, -200.0F, -0.0F, 0.0F, 200.0F, 1e30F, 1e-20F};
    std::vector<float> y(x.size());
    run("tanh", {x.data()}, y.data(), x.size());
    EXPECT_THAT(y, testing::ElementsAre(-1.0F, -1.0F, 0.0F, 0.0F, 1.0F, 1.0F, 1e-20F));
    run("sigmoid", {x.data()}, y.data(), x.size());
    EXPECT_EQ(y[2], 0.5F);
    EXPECT_LT(y[0], 1e-30F);
    EXPECT_GE(y[0], 0.0F);
    EXPECT_EQ(y[5], 1.0F);
    const float nan = std::nanf("");
    run("tanh", {&nan}, y.data(), 1);
    EXPECT_TRUE(std::isnan(y[0])) << "a broken model must show";
    run("sigmoid", {&nan}, y.data(), 1);
    EXPECT_TRUE(std::isnan(y[0]));
}

TEST(Loops, ActivationGradients) {
    struct Case {
        const char* type;
        double (*slope)(double y);
    };
    const std::vector<Case> all{
        {"relu_grad", [](double y) { return y > 0 ? 1.0 : 0.0; }},
        {"tanh_grad", [](double y) { return 1 - y * y; }},
        {"sigmoid_grad", [](double y) { return y * (1 - y); }},
    };
    for (const auto& [type, slope] : all) {
        for (const auto n : lengths) {
            const auto y = noise(n, 1.0F, 2);
            const auto dy = noise(n, 1.0F, 3);
            std::vector<float> dx(n);
            run(type, {y.data(), dy.data()}, dx.data(), n);
            for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(dx[i], slope(y[i]) * dy[i], 1e-6);
        }
    }
}

TEST(Loops, Reductions) {
    for (const auto n : lengths) {
        const auto x = noise(n, 2.0F, 4);
        const auto y = noise(n, 2.0F, 5);
        double sum = 0;
        double dot = 0;
        double exponentials = 0;
        for (std::size_t i = 0; i < n; ++i) {
            sum += x[i];
            dot += static_cast<double>(x[i]) * y[i];
            exponentials += std::exp(static_cast<double>(x[i]) - 0.5);
        }
        const double tolerance = 1e-6 * static_cast<double>(n);
        EXPECT_NEAR(loops::sum(x.data(), n), sum, tolerance);
        EXPECT_NEAR(loops::dot(x.data(), y.data(), n), dot, 4 * tolerance);
        EXPECT_EQ(loops::max(x.data(), n), *std::max_element(x.begin(), x.end()));
        std::vector<float> e(n);
        EXPECT_NEAR(loops::exp_minus(0.5F, x.data(), e.data(), n), exponentials, 4 * tolerance);
        for (std::size_t i = 0; i < n; ++i)
            ASSERT_NEAR(e[i], std::exp(x[i] - 0.5), 3e-7 * std::exp(x[i] - 0.5));
    }
}

TEST(Loops, ColumnSumsAndBias) {
    const std::size_t rows = 5;
    for (const auto columns : lengths) {
        auto x = noise(rows * columns, 2.0F, 6);
        const auto bias = noise(columns, 2.0F, 7);
        std::vector<float> sums(columns, 99.0F);
        loops::column_sum(x.data(), sums.data(), rows, columns);
        for (std::size_t j = 0; j < columns; ++j) {
            double expected = 0;
            for (std::size_t i = 0; i < rows; ++i) expected += x[i * columns + j];
            ASSERT_NEAR(sums[j], expected, 1e-5);
        }
        auto y = x;
        loops::bias_loop<float>("")(bias.data(), y.data(), rows, columns);
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j)
                ASSERT_EQ(y[i * columns + j], x[i * columns + j] + bias[j]);
    }
}

// The whole operator for one shape: out = activation(x w + b) and the two gradients.
class FcKernel : public testing::TestWithParam<std::tuple<int, int, int, std::string>> {};

TEST_P(FcKernel, MatchesPlainLoops) {
    const auto [batch, inputs, outputs, activation] = GetParam();
    const std::map<std::string, std::function<double(double)>> functions{
        {"", [](double x) { return x; }},
        {"relu", [](double x) { return std::max(x, 0.0); }},
        {"tanh", [](double x) { return std::tanh(x); }},
        {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }}};
    const auto m = static_cast<std::size_t>(batch);
    const auto k = static_cast<std::size_t>(inputs);
    const auto n = static_cast<std::size_t>(outputs);
    auto x = noise(m * k, 1.0F, 8);
    auto w = noise(k * n, 1.0F, 9);
    auto b = noise(n, 1.0F, 10);
    auto dout = noise(m * n, 1.0F, 11);
    std::vector<float> out(m * n);
    std::vector<float> dw(k * n);
    std::vector<float> db(n);
    std::vector<float> dx(m * k);
    const auto forward = make_cpu_kernel("fc", {{{"x", view(x, {batch, inputs})},
                                                 {"weight", view(w, {inputs, outputs})},
                                                 {"bias", view(b, {outputs})}},
                                                {{"out", view(out, {batch, outputs})}},
                                                {{"activation", activation}}});
    const auto by_weight = make_cpu_kernel(
        "fc_grad_weight", {{{"x", view(x, {batch, inputs})}, {"out@grad", view(dout, {batch, outputs})}},
                           {{"weight@grad", view(dw, {inputs, outputs})}, {"bias@grad", view(db, {outputs})}},
                           {}});
    const auto by_input =
        make_cpu_kernel("fc_grad_input",
                        {{{"out@grad", view(dout, {batch, outputs})}, {"weight", view(w, {inputs, outputs})}},
                         {{"x@grad", view(dx, {batch, inputs})}},
                         {}});
    for (int round = 0; round < 2; ++round) {  // a second run must not add to the first
        forward->run();
        by_weight->run();
        by_input->run();
    }
    const double tolerance = 3e-6 * std::sqrt(static_cast<double>(k + m + n));
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            double sum = b[j];
            for (std::size_t l = 0; l < k; ++l) sum += static_cast<double>(x[i * k + l]) * w[l * n + j];
            ASSERT_NEAR(out[i * n + j], functions.at(activation)(sum), tolerance);
        }
        for (std::size_t l = 0; l < k; ++l) {
            double sum = 0;
            for (std::size_t j = 0; j < n; ++j) sum += static_cast<double>(dout[i * n + j]) * w[l * n + j];
            ASSERT_NEAR(dx[i * k + l], sum, tolerance);
        }
    }
    for (std::size_t j = 0; j < n; ++j) {
        double bias = 0;
        for (std::size_t i = 0; i < m; ++i) bias += dout[i * n + j];
        ASSERT_NEAR(db[j], bias, tolerance);
        for (std::size_t l = 0; l < k; ++l) {
            double sum = 0;
            for (std::size_t i = 0; i < m; ++i) sum += static_cast<double>(x[i * k + l]) * dout[i * n + j];
            ASSERT_NEAR(dw[l * n + j], sum, tolerance);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, FcKernel,
                         testing::Values(std::tuple(64, 64, 128, "tanh"), std::tuple(1, 1, 1, ""),
                                         std::tuple(1, 7, 3, "relu"), std::tuple(5, 1, 10, "sigmoid"),
                                         std::tuple(3, 33, 1, ""), std::tuple(17, 100, 10, "")));

TEST(Kernels, SoftmaxWithCrossEntropy) {
    const std::size_t batch = 6;
    const std::size_t classes = 5;
    auto logits = noise(batch * classes, 4.0F, 12);
    logits[0] = 90.0F;  // exp() of it has no float
    std::vector<std::int64_t> label{0, 1, 2, 3, 4, 0};
    auto drow = noise(batch, 1.0F, 13);
    std::vector<float> p(batch * classes);
    std::vector<float> row_loss(batch);
    std::vector<float> dlogits(batch * classes);
    const auto forward =
        make_cpu_kernel("softmax_with_cross_entropy",
                        {{{"logits", view(logits, {6, 5})}, {"label", view(label, {6})}},
                         {{"probabilities", view(p, {6, 5})}, {"row_loss", view(row_loss, {6})}},
                         {}});
    const auto backward =
        make_cpu_kernel("softmax_with_cross_entropy_grad", {{{"probabilities", view(p, {6, 5})},
                                                             {"label", view(label, {6})},
                                                             {"row_loss@grad", view(drow, {6})}},
                                                            {{"logits@grad", view(dlogits, {6, 5})}},
                                                            {}});
    forward->run();
    backward->run();
    for (std::size_t i = 0; i < batch; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < classes; ++j)
            sum += std::exp(static_cast<double>(logits[i * classes + j]));
        const auto right = static_cast<std::size_t>(label[i]);
        EXPECT_NEAR(row_loss[i], std::log(sum) - logits[i * classes + right], 1e-5);
        for (std::size_t j = 0; j < classes; ++j) {
            const double probability = std::exp(static_cast<double>(logits[i * classes + j])) / sum;
            EXPECT_NEAR(p[i * classes + j], probability, 1e-6);
            EXPECT_NEAR(dlogits[i * classes + j], drow[i] * (probability - (j == right ? 1 : 0)), 1e-6);
        }
    }
    for (const std::int64_t wrong : {std::int64_t{5}, std::int64_t{-1}}) {
        label[2] = wrong;
        try {
            forward->run();
            FAIL() << "a label outside the classes was taken";
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), HasSubstr("label " + std::to_string(wrong) + " in row 2"));
        }
    }
}

TEST(Kernels, Metrics) {
    // Right: rows 0 and 1 (the first of equals), not rows 2 and 3.
    std::vector<float> scores{3, 1, 2, /**/ 5, 5, 1, /**/ 0, 1, 9, /**/ 1, 1, 1};
    std::vector<std::int64_t> label{0, 0, 1, 2};
    std::vector<float> weight{1, 0.5F, 1, 0};
    std::vector<float> rows{1, 2, 4, 8};
    std::vector<float> out(1);
    const auto run = [&](const std::string& type, std::vector<SlotTensor> inputs) {
        make_cpu_kernel(type, {std::move(inputs), {{"out", view(out, {1})}}, {}})->run();
        return out[0];
    };
    const SlotTensor scores_in{"scores", view(scores, {4, 3})};
    const SlotTensor label_in{"label", view(label, {4})};
    const SlotTensor weight_in{"weight", view(weight, {4})};
    EXPECT_EQ(run("accuracy", {scores_in, label_in}), 0.5F);
    EXPECT_EQ(run("correct_count", {scores_in, label_in, weight_in}), 1.5F);
    EXPECT_EQ(run("weighted_sum", {{"x", view(rows, {4})}, weight_in}), 6.0F);
    EXPECT_EQ(run("mean", {{"x", view(rows, {4})}}), 3.75F);
}

TEST(Kernels, SpreadingGradientsAndSums) {
    std::vector<float> one{0.5F};
    std::vector<float> weight{1, 2, 3};
    std::vector<float> other{10, 20, 30};
    std::vector<float> out(3);
    make_cpu_kernel("mean_grad", {{{"out@grad", view(one, {1})}}, {{"x@grad", view(out, {3})}}, {}})->run();
    EXPECT_THAT(out, testing::Each(testing::FloatEq(0.5F / 3.0F)));
    make_cpu_kernel(
        "weighted_sum_grad",
        {{{"weight", view(weight, {3})}, {"out@grad", view(one, {1})}}, {{"x@grad", view(out, {3})}}, {}})
        ->run();
    EXPECT_THAT(out, testing::ElementsAre(0.5F, 1.0F, 1.5F));
    make_cpu_kernel("sum", {{{"x", view(weight, {3})}, {"x", view(other, {3})}, {"x", view(other, {3})}},
                            {{"out", view(out, {3})}},
                            {}})
        ->run();
    EXPECT_THAT(out, testing::ElementsAre(21.0F, 42.0F, 63.0F));
    make_cpu_kernel("loss_gradient", {{}, {{"out", view(out, {3})}}, {{"value", 0.25}}})->run();
    EXPECT_THAT(out, testing::Each(0.25F));
}

TEST(Kernels, Sgd) {
    auto p = noise(50, 1.0F, 14);
    auto g = noise(50, 1.0F, 15);
    const auto before = p;
    make_cpu_kernel("sgd",
                    {{{"gradient", view(g, {50})}}, {{"parameter", view(p, {50})}}, {{"learning_rate", 0.1}}})
        ->run();
    for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], before[i] - 0.1 * g[i], 1e-6);
}

TEST(Kernels, Momentum) {
    auto p = noise(50, 1.0F, 14);
    auto g = noise(50, 1.0F, 15);
    std::vector<float> v(50);
    std::vector<double> exact(p.begin(), p.end());
    std::vector<double> velocity(50);
    const auto kernel =
        make_cpu_kernel("momentum", {{{"gradient", view(g, {50})}},
                                     {{"parameter", view(p, {50})}, {"velocity", view(v, {50})}},
                                     {{"learning_rate", 0.1}, {"mu", 0.9}, {"nesterov", std::int64_t{0}}}});
    for (int step = 0; step < 5; ++step) {
        kernel->run();
        for (std::size_t i = 0; i < p.size(); ++i) {
            velocity[i] = 0.9 * velocity[i] + g[i];
            exact[i] -= 0.1 * velocity[i];
        }
    }
    for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], exact[i], 1e-5);
}

// Algorithm 1 of Kingma and Ba as it is printed, in double.
TEST(Kernels, Adam) {
    auto p = noise(50, 1.0F, 14);
    auto g = noise(50, 1.0F, 15);
    g[3] = 1e-8F;  // where epsilon matters
    g[4] = 0.0F;
    std::vector<float> m(50);
    std::vector<float> v(50);
    std::vector<std::int64_t> step{0};
    std::vector<double> exact(p.begin(), p.end());
    std::vector<double> first(50);
    std::vector<double> second(50);
    const auto count =
        make_cpu_kernel("increment", {{{"step", view(step, {1})}}, {{"step", view(step, {1})}}, {}});
    const auto update = make_cpu_kernel(
        "adam", {{{"gradient", view(g, {50})}, {"step", view(step, {1})}},
                 {{"parameter", view(p, {50})}, {"moment1", view(m, {50})}, {"moment2", view(v, {50})}},
                 {{"learning_rate", 0.01}, {"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}}});
    for (int t = 1; t <= 5; ++t) {
        count->run();
        EXPECT_EQ(step[0], t);
        update->run();
        for (std::size_t i = 0; i < p.size(); ++i) {
            first[i] = 0.9 * first[i] + 0.1 * g[i];
            second[i] = 0.999 * second[i] + 0.001 * g[i] * g[i];
            const double m_hat = first[i] / (1 - std::pow(0.9, t));
            const double v_hat = second[i] / (1 - std::pow(0.999, t));
            exact[i] -= 0.01 * m_hat / (std::sqrt(v_hat) + 1e-8);
        }
    }
    for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], exact[i], 2e-6) << i;
}

TEST(Kernels, UnknownOperatorsAndMissingTensorsAreNamed) {
    EXPECT_FALSE(has_cpu_kernel("fcc"));
    EXPECT_TRUE(has_cpu_kernel("fc"));
    try {
        make_cpu_kernel("fcc", {});
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("'fcc'"));
    }
    EXPECT_THROW(make_cpu_kernel("relu", {}), Error);
    EXPECT_THROW(make_cpu_kernel("loss_gradient", {}), Error);
    std::vector<float> x(1);
    EXPECT_THROW(view(x, {1}).as<std::int64_t>(), Error);
}

TEST(Tensor, ReadsAsText) {
    EXPECT_EQ(to_string(Shape{64, 784}), "[64, 784]");
    EXPECT_EQ(to_string(Shape{}), "[]");
    EXPECT_EQ(element_count({}), 1);
    EXPECT_EQ(element_count({3, 4, 5}), 60);
    EXPECT_EQ(to_string(Attribute(std::int64_t{3})), "3");
    EXPECT_EQ(to_string(Attribute(0.001)), "0.001");
    EXPECT_EQ(to_string(Attribute(std::string("relu"))), "\"relu\"");
    EXPECT_EQ(to_string(DataType::int64), "int64");
}

}  // namespace
}  // namespace dtrain::kernels
