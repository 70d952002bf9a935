// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the same program with its operators run one by one, bit by bit.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>

#include "kernels/functors/functions.hpp"
#include "program/ir/operators.hpp"
#include "program/passes/element_chains.hpp"
#include "program/runtime/copy_of.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using program::ElementChain;
using program::find_element_chains;
using testing::Contains;
using testing::HasSubstr;
using tests::message_of;

constexpr std::size_t no_barrier = 1000;

struct Net {
    Program program;
    std::string middle;  ///< between two element-wise operators
    std::string loss;
};

/// Every element-wise operator with its gradient, on tensors of rows x 101.
Net element_wise_net(std::int64_t rows, DataType type = DataType::float32) {
    Net net;
    auto& p = net.program;
    const auto parameter = [&](const std::string& name, double around) {
        p.add({.name = name,
               .shape = {rows, 101},
               .type = type,
               .role = Role::parameter,
               .initializer = {Initializer::Kind::uniform, around}});
        return name;
    };
    const auto a = parameter("a", 2);
    const auto b = parameter("b", 1);
    const auto bounded = layers::scale(p, layers::sigmoid(p, a), 1, 0.5);  // far from zero
    net.middle = layers::multiply(p, layers::tanh(p, layers::subtract(p, bounded, b)), b);
    auto x = layers::dropout(p, layers::relu(p, net.middle), 0.3, {.seed = 9});
    x = layers::divide(p, layers::sum(p, {x, bounded, b}), bounded);
    x = layers::sum(p, {layers::square(p, x), layers::sqrt(p, bounded)});
    x = layers::dropout(p, x, 0.2);
    const auto label = layers::data(p, "label", {rows, 101}, type);  // zeros
    net.loss = layers::mean(p, layers::bce_with_logits(p, x, label));
    return net;
}

std::uint64_t trained(const Program& program, const ExecutorOptions& options) {
    const State state(program, 4);
    Executor executor(program, state, {}, options);
    for (int step = 0; step < 5; ++step) executor.run();
    return parameters_checksum(state);
}

TEST(ElementChains, GiveTheBitsOfOneOperatorAfterTheOther) {
    for (const auto type : {DataType::float32, DataType::float64})
        for (const std::int64_t rows : {21, 41, 64, 203}) {
            auto net = element_wise_net(rows, type);
            minimize(net.program, net.loss, Sgd{.learning_rate = 50});
            const auto expected = trained(net.program, {.fuse_chains = false});
            EXPECT_EQ(trained(net.program, {.fuse_chains = true}), expected) << rows;
            EXPECT_EQ(trained(net.program, {.fuse_chains = true, .memory_optimize = true}), expected) << rows;
            EXPECT_NE(expected, parameters_checksum(State(net.program, 4))) << "it trains";
        }
}

TEST(ElementChains, AreOneRowOfTheProfile) {
    auto net = element_wise_net(64);
    Executor executor(net.program, State(net.program, 1));
    std::vector<std::string> types;
    for (const auto& row : executor.profile()) types.push_back(row.type);
    EXPECT_THAT(types, Contains(HasSubstr("sigmoid+scale+subtract+tanh+multiply+relu+dropout+sum+divide")));
}

TEST(ElementChains, NeedMemoryForABlockOfWhatOnlyTheyRead) {
    auto net = element_wise_net(640);
    minimize(net.program, net.loss, Sgd{});
    const auto bytes = [&](bool fuse_chains, bool memory_optimize) {
        return Executor(net.program, State(net.program, 1), {},
                        {.fuse_chains = fuse_chains, .memory_optimize = memory_optimize})
            .memory_bytes();
    };
    EXPECT_LT(static_cast<double>(bytes(true, false)), 0.8 * static_cast<double>(bytes(false, false)));
    EXPECT_LE(bytes(true, true), bytes(false, true)) << "what the backward pass reads is needed anyway";
}

TEST(ElementChains, KeepWhatIsToBeFetched) {
    const auto net = element_wise_net(64);
    Executor fused(net.program, State(net.program, 1));
    fused.run();
    EXPECT_THAT(message_of<ProgramError>([&] { fused.fetch(net.middle); }),
                HasSubstr("fetch: '" + net.middle + "' is not kept"));
    Executor keeping(net.program, State(net.program, 1), {}, {.keep = {net.middle}});
    Executor plain(net.program, State(net.program, 1), {}, {.fuse = false});
    keeping.run();
    plain.run();
    EXPECT_EQ(copy_of(keeping.fetch(net.middle)), copy_of(plain.fetch(net.middle)));
    EXPECT_EQ(fused.fetch_scalar(net.loss), plain.fetch_scalar(net.loss));
}

TEST(ElementChains, EndWhereOthersRead) {
    Program program;
    const auto x = layers::data(program, "x", {3, 1000});
    const auto a = layers::tanh(program, x);
    const auto b = layers::scale(program, a, 2);
    const auto c = layers::sigmoid(program, b);
    const auto d = layers::mean(program, b);
    const auto e = layers::relu(program, c);
    const auto found = find_element_chains(program, no_barrier, {});
    EXPECT_THAT(found.chains, testing::ElementsAre(ElementChain{0, 3}));
    EXPECT_THAT(found.inner, testing::ElementsAre(a)) << "the mean reads b, and relu c";
    EXPECT_EQ(find_element_chains(program, 1, {}).chains.front(), (ElementChain{1, 2}));
    EXPECT_TRUE(find_element_chains(program, no_barrier, {a}).inner.empty());
    EXPECT_EQ(found.of(2), &found.chains.front());
    EXPECT_EQ(found.of(3), nullptr);
    EXPECT_FALSE(d.empty() || e.empty());
}

TEST(ElementChains, AreNotMadeOfWhatFitsIntoABlock) {
    Program program;
    layers::relu(program, layers::tanh(program, layers::data(program, "x", {2, 1024})));
    EXPECT_TRUE(find_element_chains(program, no_barrier, {}).chains.empty());
}

TEST(ElementChains, MayHaveAllThatKernelsComputeElementByElement) {
    for (const auto type : kernels::ElementOperators::types)
        EXPECT_TRUE(program::traits_of(type).element_wise) << type;
}

}  // namespace
}  // namespace dtrain
