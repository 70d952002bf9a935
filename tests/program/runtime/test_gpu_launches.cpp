// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the parts of a step counted by hand, for the documents' MLP; bit by bit, the same steps of
// operators one by one. On the stand-in alone: what a part becomes on a GPU, the library for products decides
// as well.
#include <algorithm>

#include <gmock/gmock.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "gpu/a_gpu.hpp"
#include "program/passes/joined_operators.hpp"
#include "program/state/state_access.hpp"

namespace dtrain {
namespace {

std::string documents_mlp(Program& program) {
    auto x = layers::data(program, "x", {64, 784});
    const auto label = layers::data(program, "label", {64}, DataType::int64);
    for (int layer = 0; layer < 2; ++layer) x = layers::fc(program, x, 128, {.activation = "tanh"});
    return layers::softmax_with_cross_entropy(program, layers::fc(program, x, 10), label).loss;
}

class GpuLaunches : public tests::OnAGpu {
  protected:
    void SetUp() override {
        OnAGpu::SetUp();
        if (!IsSkipped() && !gpu->description().ends_with("this processor"))
            GTEST_SKIP() << "parts of a step are counted on the stand-in";
    }

    static kernels::Gpu::Given given_by_steps(const Program& program, const State& state, int steps) {
        Executor executor(program, state, {}, {.device = Device::gpu(0)});
        for (int step = 0; step < steps; ++step) executor.run();
        return program::StateAccess::on_gpu(state)->gpu()->given();
    }
};

// fc1 and its tanh, fc2 and its tanh, fc3; loss with its gradient and the gradient of the last bias; weights
// and inputs of fc3; tanh's gradient with that of the bias, weights and inputs of fc2; the same of fc1
// without its inputs; Adam, which counts the steps.
TEST_F(GpuLaunches, OfTheDocumentsMlp) {
    Program program;
    minimize(program, documents_mlp(program), Adam{.learning_rate = 0.01});
    const State state(program, 1);
    const auto given = given_by_steps(program, state, 3);
    EXPECT_EQ(given.graphs_run, 3U) << "a step is one";
    const auto is_product = [](const std::string& part) { return part == "MatrixProduct"; };
    EXPECT_EQ(std::ranges::count_if(given.last_captured, is_product), 8);
    EXPECT_EQ(given.last_captured.size(), 14U) << testing::PrintToString(given.last_captured);
    EXPECT_EQ(state.find("adam.step")->view.as<std::int64_t>()[0], 3);
}

struct Shapes {
    std::string activation;
    std::int64_t batch;
    std::int64_t hidden;
    std::int64_t classes;
    std::size_t parts;  ///< of a step
};

void PrintTo(const Shapes& shapes, std::ostream* out) {
    *out << shapes.activation << ' ' << shapes.batch << 'x' << shapes.hidden << 'x' << shapes.classes;
}

class GpuJoined : public GpuLaunches, public testing::WithParamInterface<Shapes> {
  protected:
    std::uint64_t trained(bool joins, bool scales, ExecutorOptions options = {}) {
        const auto& [activation, batch, hidden, classes, parts] = GetParam();
        Program program;
        const auto x = layers::data(program, "x", {batch, 12});
        const auto label = layers::data(program, "label", {batch}, DataType::int64);
        const auto y = layers::fc(program, x, hidden, {.activation = activation});
        const auto loss =
            layers::softmax_with_cross_entropy(program, layers::fc(program, y, classes), label).loss;
        minimize(program, loss, Adam{.learning_rate = 0.01});
        if (scales) program = with_loss_scaling(program);
        options.device = Device::gpu(0);
        options.fuse_chains = joins;
        options.keep = {loss};
        const State state(program, 1);
        Executor executor(program, state, {}, options);
        const auto values = executor.feed<float>("x");
        const auto labels = executor.feed<std::int64_t>("label");
        for (int step = 0; step < 3; ++step) {
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(step)) % 11) * 0.1F - 0.5F;
            for (std::size_t i = 0; i < labels.size(); ++i)
                labels[i] = static_cast<std::int64_t>(i * i) % classes;
            executor.run();
        }
        losses.push_back(executor.fetch_scalar(loss));
        if (joins && !scales) last_parts = program::StateAccess::on_gpu(state)->gpu()->given().last_captured;
        return parameters_checksum(state);
    }

    std::vector<float> losses;
    std::vector<std::string> last_parts;
};

TEST_P(GpuJoined, HasTheBitsOfOperatorsOneByOne) {
    for (const bool scales : {false, true}) {
        const auto one_by_one = trained(false, scales);
        EXPECT_EQ(trained(true, scales), one_by_one);
        EXPECT_EQ(trained(true, scales, {.memory_optimize = true}), one_by_one);
    }
    EXPECT_THAT(losses, testing::Each(losses.front()));
    EXPECT_EQ(last_parts.size(), GetParam().parts) << testing::PrintToString(last_parts);
}

// fc, its activation, fc; loss; the weights and inputs of fc; the activation's gradient; weights; Adam. More
// classes, or samples, than a block takes at once: five for the loss, and a sum of the bias. relu is a part
// of its fc, whose own gradient of the bias is that of an activation.
INSTANTIATE_TEST_SUITE_P(Shapes, GpuJoined,
                         testing::Values(Shapes{"tanh", 16, 40, 10, 9}, Shapes{"sigmoid", 70, 33, 31, 9},
                                         Shapes{"relu", 16, 40, 10, 8}, Shapes{"tanh", 16, 40, 33, 14},
                                         Shapes{"tanh", 900, 300, 10, 15}));

TEST(JoinedOperators, LeaveChainsAndTheBarrierAlone) {
    Program program;
    minimize(program, documents_mlp(program), Adam{});
    const auto types = [&](const program::ElementChain& chain) {
        std::string all;
        for (auto number = chain.first; number <= chain.last(); ++number)
            all += program.operators()[number].type + " ";
        return all;
    };
    const auto found = program::find_joined_operators(program, {}, 1000);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(types(found[0]),
              "softmax_with_cross_entropy mean loss_gradient mean_grad softmax_with_cross_entropy_grad "
              "fc_grad_weight ");
    EXPECT_EQ(types(found[1]), "tanh_grad fc_grad_weight ");
    EXPECT_EQ(types(found[2]), "tanh_grad fc_grad_weight ");
    EXPECT_THAT(program::find_joined_operators(program, {{found[1]}, {}}, 1000),
                testing::ElementsAre(found[0], found[2]));
    EXPECT_THAT(program::find_joined_operators(program, {}, found[2].last()),
                testing::ElementsAre(found[0], found[1]));
    const program::ElementChain without_weight{found[0].first, found[0].count - 1};
    EXPECT_THAT(program::find_joined_operators(program, {}, found[0].last()),
                testing::ElementsAre(without_weight, found[1], found[2]));
}

TEST(JoinedOperators, UpdatesCountWhenNobodyElseReadsTheCounter) {
    Program program;
    minimize(program, documents_mlp(program), Adam{});
    const auto& operators = program.operators();
    const auto counter = static_cast<std::size_t>(std::ranges::find(operators, "increment", &Operator::type) -
                                                  operators.begin());
    const auto updates = operators.size() - counter - 1;
    EXPECT_EQ(updates, 6U);
    EXPECT_TRUE(program::can_count(program, counter, counter + 1, updates));
    EXPECT_FALSE(program::can_count(program, counter, counter + 1, updates - 1)) << "the last one reads it";
    EXPECT_FALSE(program::can_count(program, counter, counter + 1, 0));
    program.append({"increment", {{"step", "adam.step"}}, {{"step", "adam.step"}}, {}});
    EXPECT_FALSE(program::can_count(program, counter, counter + 1, updates)) << "it is counted again";
    EXPECT_FALSE(program::can_count(with_loss_scaling(program), counter, counter + 1, updates));
}

}  // namespace
}  // namespace dtrain
