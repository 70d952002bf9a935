// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: equality of what was written and what is read; hand-made texts that are wrong in one place; texts
// that a fuzzer damaged, which must be refused in one helpful line or be a program that can be written again.
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/metrics.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/program_file.hpp>

#include "program/ir/interpreter.hpp"
#include "support/fuzz.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

// A bit of everything.
Program large_program() {
    Program program;
    const auto ids = layers::data(program, "ids", {8, 2}, DataType::int32);
    const auto label = layers::data(program, "label", {8, 1});
    const auto rows = layers::embedding(program, ids, 10, 3, {.is_sparse = true});
    const auto hidden = layers::fc(program, layers::flatten(program, rows), 4, {.activation = "tanh"});
    const auto logits = layers::fc(program, layers::concat(program, {hidden, hidden}, 1), 1);
    layers::auc(program, layers::sigmoid(program, logits), label);
    const auto loss = layers::mean(program, layers::bce_with_logits(program, logits, label));
    minimize(program, loss, AdamW{.learning_rate = 0.1 / 3, .without_decay = {"fc_0.bias"}},
             {.schedule = {{PiecewiseRate{{10, 20}, {0.1, 0.01, 1e-17}}, LinearWarmup{.steps = 3}}},
              .clipping = ClipByGlobalNorm{1},
              .regularisation = L2Decay{1e-4}});
    return program;
}

TEST(ProgramFile, ComesBackEqual) {
    for (const auto& program : {Program(), large_program()}) {
        const auto text = program_text(program);
        const auto again = parse_program(text, "p.json");
        EXPECT_EQ(again, program);
        EXPECT_EQ(program_text(again), text);
    }
    Program dense;
    const auto x = layers::data(dense, "x", {4, 3});
    minimize(dense, layers::mean(dense, layers::fc(dense, x, 2)), Adam{});
    dense = data_parallel(dense, {.ranks = 2});
    EXPECT_EQ(parse_program(program_text(dense), ""), dense);
    Program lists;  // empty ones of both kinds
    append_learning_rate(lists, {PiecewiseRate{{}, {0.5}}});
    EXPECT_EQ(parse_program(program_text(lists), ""), lists);
}

TEST(ProgramFile, RunsAsTheOriginal) {
    const auto program = large_program();
    const auto trained = [](const Program& to_run) {
        Interpreter interpreter(to_run, State(to_run, 4));
        interpreter.set("ids", {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 3, 5, 7, 9, 1});
        interpreter.set("label", {1, 0, 1, 1, 0, 0, 1, 0});
        for (int step = 0; step < 5; ++step) interpreter.run();
        return parameters_checksum(interpreter.state());
    };
    EXPECT_EQ(trained(program), trained(parse_program(program_text(program), "")));
}

TEST(ProgramFile, IsSavedAndLoaded) {
    const tests::TemporaryFolder folder;
    const auto path = folder.path() / "model.json";
    save_program(large_program(), path);
    EXPECT_EQ(load_program(path), large_program());
    EXPECT_EQ(message_of([&] { load_program(folder.path() / "none.json"); }),
              "cannot read the program file " + (folder.path() / "none.json").string() +
                  ": No such file or directory");
    EXPECT_THAT(message_of([&] { load_program(folder.path()); }), HasSubstr("it is a folder"));
    std::ofstream(path) << "{";
    EXPECT_EQ(message_of([&] { load_program(path); }),
              path.string() + ": no JSON text: it breaks at byte 2 of 1");
}

TEST(ProgramFile, RefusesEveryPrefix) {
    Program small;
    layers::mean(small, layers::fc(small, layers::data(small, "x", {2, 3}), 2));
    const auto check = [](const std::string& text, std::size_t stride) {
        for (std::size_t length = 0; length + 2 < text.size(); length += stride) {
            const auto message = message_of([&] { parse_program(text.substr(0, length), "p.json"); });
            ASSERT_THAT(message, HasSubstr("p.json: ")) << length;
        }
    };
    check(program_text(small), 1);
    check(program_text(large_program()), 97);
}

TEST(ProgramFile, SaysWhatIsWrongWhere) {
    const auto refused = [](const std::string& from, const std::string& to) {
        Program program;
        layers::relu(program, layers::data(program, "x", {2, 3}));
        auto text = program_text(program);
        const auto at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from << " in " << text;
        text.replace(at, from.size(), to);
        return message_of([&] { parse_program(text, "p.json"); });
    };
    EXPECT_EQ(refused("\"version\": 1", "\"version\": 2"),
              "p.json: version is 2, expected 1, the version that this dtrain reads");
    EXPECT_EQ(
        refused("dtrain program", "program"),
        "p.json: the text is an object, expected a program: an object with \"format\": \"dtrain program\"");
    EXPECT_EQ(refused("\"float32\"", "\"float\""),
              "p.json: variables[0].type is \"float\", expected one of float32, int64, float64, int32");
    EXPECT_EQ(refused("\"role\": \"data\"", "\"role\": 7"),
              "p.json: variables[0].role is 7, expected a text");
    EXPECT_EQ(refused("\"name\": \"x\"", "\"nam\": \"x\""),
              "p.json: variables[0] is an object, expected an object with \"name\"");
    EXPECT_EQ(refused("\"name\": \"x\"", "\"name\": \"x\", \"size\": 4"),
              "p.json: variables[0].size is 4, expected nothing of that name");
    EXPECT_EQ(refused("2,\n", "2.5,\n"),
              "p.json: variables[0].shape[0] is 2.5, expected a whole number of 64 bits");
    EXPECT_EQ(refused("2,\n", "18446744073709551615,\n"),
              "p.json: variables[0].shape[0] is 18446744073709551615, expected a whole number of 64 bits");
    EXPECT_EQ(refused("2,\n", "0,\n"),
              "p.json: variables[0]: variable 'x' has shape [0, 3], expected extents of at least 1");
    EXPECT_EQ(refused("2,\n", "4611686018427387904,\n"),
              "p.json: variables[0]: variable 'x' has shape [4611686018427387904, 3], expected at most 2^48 "
              "elements");
    EXPECT_EQ(refused("\"type\": \"relu\"", "\"type\": \"rellu\""),
              "p.json: operators[0]: there is no operator 'rellu'; did you mean 'relu'?");
    EXPECT_EQ(refused("\"attributes\": {}", "\"attributes\": {\"a\": [1, \"2\"]}"),
              "p.json: operators[0].attributes.a[1] is \"2\", expected a whole number of 64 bits");
    EXPECT_EQ(refused("\"inputs\": [", "\"inputs\": [[\"x\"],"),
              "p.json: operators[0].inputs[0] is an array of 1, expected a pair of slot and variable");
}

TEST(ProgramFile, CannotHaveNumbersAndNamesThatNoTextHas) {
    Program program;
    program.add({.name = "p",
                 .shape = {1},
                 .role = Role::parameter,
                 .initializer = Initializer::constant(std::numeric_limits<double>::infinity())});
    EXPECT_EQ(message_of([&] { program_text(program); }),
              "cannot write the program as text: variable 'p' has the number inf");
    Program odd;
    layers::data(odd, "\xff", {1});
    EXPECT_THAT(message_of([&] { program_text(odd); }), HasSubstr("no UTF-8"));
}

TEST(ProgramFileProperties, AnyTextIsRefusedOrComesBackFromItsWrittenForm) {
    Program small;
    layers::fc(small, layers::data(small, "x", {2, 3}), 2);
    const auto text = program_text(small);
    const tests::Corpus corpus{.examples = {text, program_text(large_program())},
                               .pieces = {text, "\"shape\": [", "2", "]", "{", "}", "\"float32\"", "-1",
                                          "1e400", "\"operators\": ["}};
    tests::for_all(corpus, &tests::Mutator::text, [](const std::string& damaged) {
        try {
            const auto program = parse_program(damaged, "p.json");
            EXPECT_EQ(parse_program(program_text(program), "p.json"), program);
        } catch (const UsageError& error) {
            EXPECT_TRUE(tests::is_helpful(error.what(), {"p.json"}));
        }
    });
}

}  // namespace
}  // namespace dtrain
