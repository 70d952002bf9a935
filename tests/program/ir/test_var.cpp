// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the same program made with names as strings.
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

namespace dtrain {
namespace {

using testing::ElementsAre;

TEST(Var, IsItsName) {
    Program program;
    const auto x = layers::data(program, "x", {2, 3});
    static_assert(std::is_same_v<decltype(x), const Var>);
    EXPECT_EQ(x.name(), "x");
    EXPECT_EQ(x, "x");
    EXPECT_EQ(x, std::string("x"));
    EXPECT_NE(x, Var());
    EXPECT_EQ(Var().name(), "");
    EXPECT_TRUE(Var().empty());
    EXPECT_FALSE(x.empty());
    const std::string_view view = x;
    EXPECT_EQ(view.data(), x.name().data());
    const std::string& of_temporary = layers::relu(program, x);
    EXPECT_EQ(of_temporary, "relu_0") << "a copy that lives as long as the reference";
    std::vector<std::string> names{x};
    names.push_back(x);
    names.push_back(layers::relu(program, x));
    EXPECT_THAT(names, ElementsAre("x", "x", "relu_1"));
}

TEST(Var, LayersTakeAndReturnStringsAndVarsAlike) {
    Program with_vars;
    {
        const Var x = layers::data(with_vars, "x", {2, 3});
        const Var y = layers::relu(with_vars, x);
        const Vars parts = layers::split(with_vars, layers::concat(with_vars, {x, y}, 1), {2, 4}, 1);
        layers::sum(with_vars, {parts[0], parts[0]});
        layers::sum(with_vars, parts.size() == 2 ? Vars{parts[1]} : Vars());
    }
    Program with_strings;
    {
        const std::string x = layers::data(with_strings, "x", {2, 3});
        const std::string y = layers::relu(with_strings, x);
        const std::vector<std::string> both{x, y};
        const std::vector<std::string> parts =
            layers::split(with_strings, layers::concat(with_strings, both, 1), {2, 4}, 1);
        ASSERT_EQ(parts.size(), 2U);
        layers::sum(with_strings, {parts[0], parts[0]});
        layers::sum(with_strings, std::vector<std::string>{parts[1]});
    }
    EXPECT_EQ(with_vars, with_strings);
}

TEST(Var, HoldsInCopiesOfItsProgramAndInWhatPassesMake) {
    Program network;
    const auto x = layers::data(network, "x", {2, 1});
    const auto y = layers::scale(network, layers::fc(network, x, 1), 2);
    auto program = network;
    minimize(program, layers::mean(program, y), Sgd{});
    const State state(program, 1);
    state.find("fc_0.weight")->view.as<float>()[0] = 3;
    Executor tester(for_test(network, {y}), state);
    tester.feed<float>(x)[0] = 1;
    tester.feed<float>(x)[1] = -2;
    tester.run();
    EXPECT_THAT(tester.fetch(y), ElementsAre(6, -12));
}

TEST(Vars, AreAListOfEither) {
    const Vars vars{"a", Var("b")};
    EXPECT_EQ(vars.size(), 2U);
    EXPECT_EQ(vars.front(), "a");
    EXPECT_EQ(vars[1], "b");
    EXPECT_THAT(std::vector<std::string>(vars), ElementsAre("a", "b"));
    EXPECT_EQ(vars, Vars(std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(vars, Vars(std::vector<Var>{"a", "b"}));
    EXPECT_TRUE(Vars().empty());
}

}  // namespace
}  // namespace dtrain
