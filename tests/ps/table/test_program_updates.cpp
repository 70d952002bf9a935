// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a Program with an embedding of the same name, seed and optimizer, run by the interpreter: the table
// has its bits, from the rows' beginnings on and after every step.
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>

#include "program/schemas/check_gradients.hpp"
#include "ps/table/sparse_table.hpp"

namespace dtrain::ps {
namespace {

constexpr std::int64_t ids_of_program = 9;
constexpr std::size_t batch = 6;
constexpr std::uint64_t seed = 11;

// With some ids twice and others in no step; a step's gradients differ.
std::vector<std::int64_t> ids_of(int step) {
    if (step % 2 == 0) return {7, 1, 7, 3, 1, 7};
    return {3, 8, 0, 3, 5, 1};
}

float gradient_of(int step, std::size_t i) {
    return std::sin(1.3F * static_cast<float>(i) + 0.9F * static_cast<float>(step));
}

std::vector<double> all_rows(const SparseTable& table) {
    std::vector<std::int64_t> ids(ids_of_program);
    for (std::int64_t id = 0; id < ids_of_program; ++id) ids[static_cast<std::size_t>(id)] = id;
    std::vector<float> rows(ids.size() * table.width());
    table.find(ids, rows);
    return {rows.begin(), rows.end()};
}

void expect_the_same_bits(const Optimizer& optimizer, std::size_t width,
                          const Regularisation& decay = NoDecay{}) {
    Program program;
    const auto ids = layers::data(program, "ids", {batch}, DataType::int64);
    const auto weights = layers::data(program, "g", {batch, static_cast<std::int64_t>(width)});
    const auto out = layers::embedding(program, ids, ids_of_program, static_cast<std::int64_t>(width),
                                       {.is_sparse = true, .name = "table"});
    minimize(program, layers::reduce_sum(program, layers::multiply(program, out, weights)), optimizer,
             {.regularisation = decay});
    Interpreter interpreter(program, State(program, seed));

    SparseTable table({.name = "table.weight",
                       .width = width,
                       .seed = seed,
                       .initializer = UniformRow{program.variable("table.weight").initializer.value},
                       .optimizer = optimizer,
                       .regularisation = decay});
    ASSERT_EQ(all_rows(table), interpreter.numbers("table.weight")) << "before the first step";
    for (int step = 1; step <= 5; ++step) {
        const auto step_ids = ids_of(step);
        std::vector<float> gradients(batch * width);
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            gradients[i] = gradient_of(step, i);
            interpreter.set("g", i, gradients[i]);
        }
        interpreter.set(ids, std::vector<double>(step_ids.begin(), step_ids.end()));
        interpreter.run();
        table.push({step_ids, gradients}, {.step = step});
        ASSERT_EQ(all_rows(table), interpreter.numbers("table.weight")) << "step " << step;
    }
    EXPECT_EQ(table.size(), 6U);
}

class ProgramUpdates : public testing::TestWithParam<Optimizer> {};

TEST_P(ProgramUpdates, HaveTheSameBits) {
    for (const std::size_t width : {1, 7, 16, 37}) expect_the_same_bits(GetParam(), width);
}

TEST_P(ProgramUpdates, HaveTheSameBitsWithDecay) {
    expect_the_same_bits(GetParam(), 19, L1Decay{0.03});
    expect_the_same_bits(GetParam(), 19, L2Decay{0.03});
}

INSTANTIATE_TEST_SUITE_P(
    , ProgramUpdates,
    testing::Values(Sgd{.learning_rate = 0.1}, Momentum{.learning_rate = 0.1},
                    Momentum{.learning_rate = 0.1, .nesterov = true},
                    Adagrad{.learning_rate = 0.1, .initial = 0.25}, Adam{.learning_rate = 0.05},
                    AdamW{.learning_rate = 0.05, .weight_decay = 0.1},
                    AdamW{.learning_rate = 0.05, .weight_decay = 0.1, .without_decay = {"table.weight"}},
                    Ftrl{.learning_rate = 0.1, .l1 = 0.05, .l2 = 0.02}));

}  // namespace
}  // namespace dtrain::ps
