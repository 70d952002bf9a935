// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: hand-checked program text, and what with_local_sgd() promises. What the programs compute is in
// test_local_sgd_ranks.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/program_file.hpp>

#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

Program trained(const Optimizer& optimizer) {
    Program program;
    const auto x = layers::data(program, "x", {4, 3});
    minimize(program, layers::mean(program, layers::fc(program, x, 2, {.name = "a"})), optimizer);
    return program;
}

std::string refusal(const Program& program, const LocalSgd& options = {.ranks = 2, .every = 4}) {
    return message_of<ProgramError>([&] { with_local_sgd(program, options); });
}

TEST(LocalSgd, EndsWithAveragesOfWhatIsUpdated) {
    const auto program = trained(Sgd{});
    const auto local = with_local_sgd(program, {.ranks = 2, .every = 4});
    ASSERT_EQ(local.operators().size(), program.operators().size() + 1);
    EXPECT_THAT(
        local.to_string(),
        HasSubstr("  average_parameters(parameter=[a.weight, a.bias]) -> parameter=[a.weight, a.bias] "
                  "{every=4, ranks=2}\n"));
    for (std::size_t i = 0; i < program.operators().size(); ++i)
        EXPECT_EQ(local.operators()[i], program.operators()[i]) << "gradients stay those of the own batch";
}

TEST(LocalSgd, OfOneRankIsTheProgramItself) {
    const auto program = trained(Adam{});
    EXPECT_EQ(with_local_sgd(program, {.ranks = 1, .every = 4}).to_string(), program.to_string());
}

TEST(LocalSgd, ProgramsAreReadBackAsTheyWere) {
    const tests::TemporaryFolder folder;
    const auto local = with_local_sgd(trained(Adam{}), {.ranks = 2, .every = 4});
    save_program(local, folder / "p.json");
    EXPECT_EQ(load_program(folder / "p.json").to_string(), local.to_string());
}

TEST(LocalSgd, ATestAveragesNothing) {
    const auto local = with_local_sgd(trained(Adam{}), {.ranks = 2, .every = 4});
    EXPECT_THAT(for_test(local, {"mean_0"}).to_string(), testing::Not(HasSubstr("average_parameters")));
}

TEST(LocalSgd, SaysWhatItCannotBeMadeOf) {
    const auto program = trained(Sgd{});
    EXPECT_EQ(refusal(program, {.ranks = 0}), "with_local_sgd: 0 ranks, expected at least 1");
    EXPECT_EQ(refusal(program, {.ranks = 2, .every = 0}),
              "with_local_sgd: parameters are averaged every 0 steps, expected at least 1");
    const std::string twice = "with_local_sgd: the program is data parallel already";
    EXPECT_EQ(refusal(data_parallel(program, {.ranks = 2})), twice);
    EXPECT_EQ(refusal(with_virtual_ranks(program, 2)), twice);
    EXPECT_EQ(refusal(with_local_sgd(program, {.ranks = 2})), twice);
    EXPECT_THAT(refusal(with_loss_scaling(program)), HasSubstr("scales its loss"));
    EXPECT_THAT(refusal(trained(Ftrl{})), HasSubstr("FTRL makes parameters of its sums alone"));
    Program untrained;
    layers::fc(untrained, layers::data(untrained, "x", {4, 3}), 2);
    EXPECT_EQ(refusal(untrained),
              "with_local_sgd: no operator updates parameters from gradients; call minimize() first");
    const auto local = with_local_sgd(program, {.ranks = 2, .every = 4});
    EXPECT_THAT(message_of<ProgramError>([&] { data_parallel(local, {.ranks = 2}); }),
                HasSubstr("data parallel already"));
    EXPECT_THAT(message_of<ProgramError>([&] { with_virtual_ranks(local, 2); }),
                HasSubstr("data parallel already"));
}

TEST(LocalSgd, AveragesFloat32) {
    Program program;
    const auto x = layers::data(program, "x", {4, 3}, DataType::float64);
    minimize(program, layers::mean(program, layers::fc(program, x, 2, {.name = "a"})), Sgd{});
    EXPECT_EQ(refusal(program),
              "with_local_sgd: the parameter 'a.weight' is float64, and ranks average float32");
}

}  // namespace
}  // namespace dtrain
