// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: central differences; the dense gradient for the sparse one; and, for the rows of sparse updates,
// the dense update of a table that has those rows only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "program/schemas/check_gradients.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

TEST(Embedding, LooksRowsUp) {
    for (const auto id_type : {DataType::int64, DataType::int32}) {
        Program program;
        const auto ids = layers::data(program, "ids", {2, 2}, id_type);
        const auto out = layers::embedding(program, ids, 4, 3, {.padding_idx = 2, .name = "table"});
        EXPECT_EQ(program.variable(out).shape, (Shape{2, 2, 3}));
        Interpreter interpreter(program);
        interpreter.set("table.weight", {0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32});
        interpreter.set(ids, {3, 0, 2, 3});
        interpreter.run();
        EXPECT_THAT(interpreter.numbers(out), ElementsAre(30, 31, 32, 0, 1, 2, 0, 0, 0, 30, 31, 32));
        interpreter.set(ids, {3, 4, 0, 0});
        EXPECT_EQ(message_of<Error>([&] { interpreter.run(); }),
                  "id 4 at place 1 of the batch is outside of the table's rows 0..3");
        interpreter.set(ids, {3, 0, -1, 0});
        EXPECT_THAT(message_of<Error>([&] { interpreter.run(); }), HasSubstr("id -1 at place 2"));
    }
}

std::string to_text(const std::optional<std::int64_t>& padding_idx, bool is_distributed = false) {
    Program program;
    const auto ids = layers::data(program, "ids", {2}, DataType::int64);
    layers::embedding(
        program, ids, 4, 3,
        {.is_sparse = is_distributed, .padding_idx = padding_idx, .is_distributed = is_distributed});
    return to_string(program.operators().back().attributes.at("padding"));
}

TEST(Embedding, ANegativePaddingIdxCountsFromTheEnd) {
    EXPECT_EQ(to_text(std::nullopt), "-1");
    EXPECT_EQ(to_text(2), "2");
    EXPECT_EQ(to_text(-1), "3");
    EXPECT_EQ(to_text(-4), "0");
    EXPECT_EQ(message_of<ProgramError>([] { to_text(-5); }),
              "layer embedding: padding_idx -5 of a table of 4 rows, expected a row");
}

TEST(Embedding, IdsOfADistributedTableAreTakenAsTheyAre) {
    EXPECT_EQ(to_text(-5, true), "-5");
    EXPECT_EQ(to_text(std::int64_t{1} << 40, true), std::to_string(std::int64_t{1} << 40));
    EXPECT_THAT(message_of<ProgramError>([] { to_text(-1, true); }),
                HasSubstr("-1 is no id of an is_distributed table"));
}

TEST(Embedding, WithoutPaddingMinusOneIsNoRow) {
    Program program;
    const auto ids = layers::data(program, "ids", {2}, DataType::int64);
    layers::embedding(program, ids, 4, 3);
    Interpreter interpreter(program);
    interpreter.set(ids, {0, -1});
    EXPECT_EQ(message_of<Error>([&] { interpreter.run(); }),
              "id -1 at place 1 of the batch is outside of the table's rows 0..3");
}

TEST(Embedding, Gradients) {
    for (const std::optional<std::int64_t> padding : {std::optional<std::int64_t>(), {1}}) {
        check_gradients([&](Program& program, DataType type) {
            const auto ids = layers::data(program, "ids", {4, 2}, DataType::int64);
            return weigh(program,
                         layers::embedding(program, ids, 4, 3, {.padding_idx = padding, .type = type}));
        });
    }
    check_gradients([](Program& program, DataType type) {  // a table that two layers share
        const layers::EmbeddingOptions shared{.type = type, .name = "shared"};
        const auto ids = layers::data(program, "ids", {3}, DataType::int64);
        const auto more = layers::data(program, "more", {2}, DataType::int64);
        const auto a = layers::embedding(program, ids, 4, 3, shared);
        const auto b = layers::embedding(program, more, 4, 3, shared);
        return weigh(program, layers::concat(program, {a, b}, 0));
    });
}

// loss of tables that are looked up once, or twice, by ids [5] and ids [2].
Program lookups(bool is_sparse, bool twice, std::optional<std::int64_t> padding = {}) {
    Program program;
    const layers::EmbeddingOptions options{.is_sparse = is_sparse, .padding_idx = padding, .name = "table"};
    const auto first = layers::data(program, "first", {5}, DataType::int64);
    auto out = layers::embedding(program, first, 8, 3, options);
    if (twice) {
        const auto second = layers::data(program, "second", {2}, DataType::int64);
        out = layers::concat(program, {out, layers::embedding(program, second, 8, 3, options)}, 0);
    }
    append_backward(program, weigh(program, out));
    return program;
}

void feed_ids(const Interpreter& interpreter, bool twice) {
    interpreter.set("first", {6, 1, 6, 3, 1});
    if (twice) interpreter.set("second", {6, 0});
}

TEST(SparseGradient, HasTheRowsOfTheDenseOne) {
    for (const bool twice : {false, true}) {
        for (const std::optional<std::int64_t> padding : {std::optional<std::int64_t>(), {1}}) {
            const auto dense_program = lookups(false, twice, padding);
            const auto sparse_program = lookups(true, twice, padding);
            Interpreter dense(dense_program);
            Interpreter sparse(sparse_program);
            for (const auto* interpreter : {&dense, &sparse}) {
                feed_numbers(dense_program, *interpreter);
                feed_ids(*interpreter, twice);
            }
            for (int round = 0; round < 2; ++round) {  // a second run must not add to the first
                dense.run();
                sparse.run();
            }
            const auto rows = sparse.numbers("table.weight@grad.rows");
            const auto values = sparse.numbers("table.weight@grad");
            std::vector<double> expected_rows =
                twice ? std::vector<double>{0, 1, 3, 6} : std::vector<double>{1, 3, 6};
            if (padding == 1) std::erase(expected_rows, 1.0);
            const auto count = expected_rows.size();
            expected_rows.resize(rows.size(), -1);
            EXPECT_EQ(rows, expected_rows);
            auto exact = dense.numbers("table.weight@grad");
            for (std::size_t i = 0; i < rows.size(); ++i) {
                for (std::size_t j = 0; j < 3; ++j) {
                    if (i >= count) {
                        EXPECT_EQ(values[i * 3 + j], 0);
                        continue;
                    }
                    auto& of_row = exact[static_cast<std::size_t>(rows[i]) * 3 + j];
                    EXPECT_NEAR(values[i * 3 + j], of_row, 1e-6);
                    of_row = 0;
                }
            }
            EXPECT_THAT(exact, Each(0.0)) << "no row is missing";
        }
    }
}

TEST(SparseGradient, CannotBeAddedToADenseOne) {
    Program program;
    const auto ids = layers::data(program, "ids", {2}, DataType::int64);
    const auto a = layers::embedding(program, ids, 4, 3, {.is_sparse = true, .name = "table"});
    const auto b = layers::embedding(program, ids, 4, 3, {.is_sparse = false, .name = "table"});
    const auto loss = weigh(program, layers::sum(program, {a, b}));
    EXPECT_THAT(message_of<ProgramError>([&] { append_backward(program, loss); }),
                HasSubstr("'table.weight' has sparse and dense gradients"));
}

TEST(SparseGradient, IsUpdatedByTheExecutorAsByTheInterpreter) {
    Program program;
    const auto ids = layers::data(program, "ids", {5}, DataType::int64);
    std::vector<std::string> parts;
    for (const std::string name : {"first", "second"})  // tables side by side in memory
        parts.push_back(layers::embedding(program, ids, 8, 16, {.is_sparse = true, .name = name}));
    minimize(program, weigh(program, layers::square(program, layers::concat(program, parts, 1))),
             Adagrad{.learning_rate = 0.1});
    Interpreter interpreter(program, State(program, 3));
    Executor executor(program, State(program, 3));
    const std::vector<double> numbers{6, 1, 6, 3, 1};
    interpreter.set(ids, numbers);
    std::ranges::copy(numbers, executor.feed<std::int64_t>(ids).begin());
    std::ranges::fill(interpreter.values("weights_0"), 0.5F);
    std::ranges::fill(executor.feed<float>("weights_0"), 0.5F);
    for (int step = 0; step < 3; ++step) {
        interpreter.run();
        executor.run();
    }
    EXPECT_EQ(parameters_checksum(interpreter.state()), parameters_checksum(executor.state()));
    EXPECT_NE(parameters_checksum(executor.state()), parameters_checksum(State(program, 3)));
}

// What an optimizer does to a table in three steps; rows 1, 3 and 6 are looked up, or 0, 1 and 2 of a table
// that consists of those.
std::vector<double> trained(const Optimizer& optimizer, const OptimizerOptions& options, bool is_sparse) {
    Program program;
    const auto rows = is_sparse ? 8 : 3;
    const auto ids = layers::data(program, "ids", {5}, DataType::int64);
    const auto out = layers::embedding(program, ids, rows, 2, {.is_sparse = is_sparse, .name = "table"});
    minimize(program, weigh(program, layers::square(program, out)), optimizer, options);
    Interpreter interpreter(program);
    feed_numbers(program, interpreter);
    interpreter.set(ids, is_sparse ? std::vector<double>{6, 1, 6, 3, 1} : std::vector<double>{2, 0, 2, 1, 0});
    const std::vector<double> small{0.5, -0.3, 0.2, 0.8, -0.9, 0.1};
    std::vector<double> large(16, 0.7);
    for (std::size_t i = 0; i < 3; ++i)
        std::copy_n(&small[2 * i], 2, &large[2 * std::vector<std::size_t>{1, 3, 6}[i]]);
    interpreter.set("table.weight", is_sparse ? large : small);
    for (int step = 0; step < 3; ++step) interpreter.run();
    const auto all = interpreter.numbers("table.weight");
    if (!is_sparse) return all;
    std::vector<double> touched;
    for (std::size_t row = 0; row < 8; ++row) {
        for (std::size_t j = 0; j < 2; ++j) {
            if (row == 1 || row == 3 || row == 6)
                touched.push_back(all[2 * row + j]);
            else
                EXPECT_NEAR(all[2 * row + j], 0.7, 1e-7) << "row " << row << " was not looked up";
        }
    }
    return touched;
}

TEST(SparseGradient, UpdatesTheRowsThatWereLookedUp) {
    const std::vector<Optimizer> optimizers{Sgd{.learning_rate = 0.1},
                                            Momentum{.learning_rate = 0.1, .nesterov = true},
                                            Momentum{.learning_rate = 0.1},
                                            Adagrad{.learning_rate = 0.1},
                                            Adam{.learning_rate = 0.1},
                                            AdamW{.learning_rate = 0.1},
                                            Ftrl{.learning_rate = 0.1, .l1 = 0.01}};
    const std::vector<OptimizerOptions> options{
        {},
        {.clipping = ClipByGlobalNorm{0.5}},
        {.clipping = ClipByNorm{0.5}, .regularisation = L2Decay{0.1}},
        {.clipping = ClipByValue{-0.2, 0.2}, .regularisation = L1Decay{0.1}}};
    for (const auto& optimizer : optimizers) {
        for (const auto& option : options) {
            const auto sparse = trained(optimizer, option, true);
            const auto dense = trained(optimizer, option, false);
            ASSERT_EQ(sparse.size(), dense.size());
            for (std::size_t i = 0; i < dense.size(); ++i)
                EXPECT_NEAR(sparse[i], dense[i], 1e-6) << "optimizer " << optimizer.index();
        }
    }
}

TEST(EmbeddingErrors, NameShapes) {
    Program program;
    const auto x = layers::data(program, "x", {2, 3});
    const auto ids = layers::data(program, "ids", {2}, DataType::int64);
    EXPECT_EQ(message_of<ProgramError>([&] { layers::embedding(program, x, 4, 3); }),
              "operator embedding: ids 'x' is float32 [2, 3], expected integers (int64 or int32)");
    EXPECT_EQ(message_of<ProgramError>([&] { layers::embedding(program, ids, 0, 3); }),
              "layer embedding: a table of 0 x 3, expected at least 1 x 1");
    layers::embedding(program, ids, 4, 3, {.name = "table"});
    EXPECT_EQ(message_of<ProgramError>([&] { layers::embedding(program, ids, 5, 3, {.name = "table"}); }),
              "layer embedding: the table 'table.weight' is [4, 3] already, expected [5, 3]");
}

}  // namespace
}  // namespace dtrain
