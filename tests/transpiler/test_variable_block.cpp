// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: blocks that Paddle's slice_variable made of these shapes, and what the rules promise.
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/variable_block.hpp>

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int64_t> rows_of(const std::vector<VariableBlock>& blocks) {
    std::vector<std::int64_t> rows;
    for (const auto& block : blocks) rows.push_back(block.shape.front());
    return rows;
}

std::vector<std::int64_t> repeated(int times, std::int64_t rows, std::vector<std::int64_t> more = {}) {
    more.insert(more.begin(), static_cast<std::size_t>(times), rows);
    return more;
}

TEST(Slice, CutsAsPaddleDoes) {
    struct Case {
        Shape shape;
        int servers;
        std::int64_t min;
        std::vector<std::int64_t> rows;
    };
    const std::vector<Case> cases{
        {{1000}, 2, 8192, {1000}},
        {{16383}, 2, 8192, {16383}},
        {{16384}, 2, 8192, {8192, 8192}},
        {{16385}, 2, 8192, {8193, 8192}},
        {{100, 1000}, 3, 8192, {34, 34, 32}},
        {{100, 1000}, 16, 8192, repeated(11, 9, {1})},
        {{1000, 17}, 3, 8192, {500, 500}},
        {{7, 10000}, 3, 8192, {3, 3, 1}},
        {{3, 8192}, 2, 8192, {2, 1}},
        {{784, 200}, 4, 8192, {196, 196, 196, 196}},
        {{513, 64}, 4, 8192, {129, 129, 129, 126}},
        {{28, 784}, 10, 1024, repeated(9, 3, {1})},
        {{8, 1020}, 10, 1024, repeated(4, 2)},
        {{800, 10}, 10, 1024, repeated(6, 115, {110})},
        {{28, 784}, 10, 8192, {14, 14}},
        {{8, 1020}, 10, 8192, {8}},
        {{6, 33, 33, 33}, 10, 8192, repeated(6, 1)},
    };
    for (const auto& [shape, servers, min, rows] : cases)
        EXPECT_EQ(rows_of(slice("w", shape, servers, min)), rows) << to_string(shape) << " on " << servers;
}

TEST(Slice, BlocksFollowEachOtherAndAreTheWhole) {
    for (const Shape& shape : {Shape{100, 1000}, Shape{16385}, Shape{6, 33, 33, 33}}) {
        std::int64_t next = 0;
        for (const auto& block : slice("w", shape, 7, 8192)) {
            EXPECT_EQ(block.first_element(), next);
            next += element_count(block.shape);
        }
        EXPECT_EQ(next, element_count(shape));
    }
}

TEST(Slice, NamesPiecesOnlyWhereThereAreSeveral) {
    EXPECT_EQ(slice("w", {1000}, 2, 8192).front().name(), "w");
    const auto blocks = slice("w", {16384}, 2, 8192);
    EXPECT_EQ(blocks[0].name(), "w.block0");
    EXPECT_EQ(blocks[1].name(), "w.block1");
}

TEST(Slice, RefusesNumbersThatAreNone) {
    EXPECT_THROW(slice("w", {1000}, 0, 8192), UsageError);
    try {
        slice("w", {1000}, 2, 0);
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("w cannot be cut into blocks of 0 elements for 2 servers"));
    }
}

std::vector<VariableBlock> several(const std::vector<std::string>& names, int servers) {
    std::vector<VariableBlock> blocks;
    for (const auto& name : names)
        for (auto& block : slice(name, {16384}, servers, 8192)) blocks.push_back(std::move(block));
    return blocks;
}

std::vector<VariableBlock> whole(const std::vector<std::pair<std::string, Shape>>& variables) {
    std::vector<VariableBlock> blocks;
    for (const auto& [name, shape] : variables)
        for (auto& block : slice(name, shape, 1, 8192)) blocks.push_back(std::move(block));
    return blocks;
}

std::map<std::string, std::int64_t> loads_of(const std::vector<VariableBlock>& blocks,
                                             const std::vector<std::string>& servers) {
    std::map<std::string, std::int64_t> loads;
    for (std::size_t i = 0; i < blocks.size(); ++i) loads[servers[i]] += element_count(blocks[i].shape);
    return loads;
}

TEST(RoundRobin, CountsThePiecesOfAllVariables) {
    auto blocks = several({"v", "w", "u"}, 3);  // two pieces of each
    blocks.erase(blocks.begin() + 3);
    EXPECT_THAT(round_robin(blocks, {"a:1", "b:2", "c:3"}), ElementsAre("a:1", "b:2", "c:3", "a:1", "b:2"));
}

TEST(RoundRobin, FillsUpWithWholeVariablesTheLargestFirst) {
    auto blocks = whole({{"small", {10}}, {"same", {10}}});
    for (auto& block : several({"v"}, 2)) blocks.push_back(std::move(block));
    for (auto& block : whole({{"large", {5, 40}}})) blocks.push_back(std::move(block));
    EXPECT_THAT(round_robin(blocks, {"a:1", "b:2"}), ElementsAre("b:2", "b:2", "a:1", "b:2", "a:1"));
}

TEST(RoundRobin, GivesNoServerAllWeights) {
    std::vector<std::pair<std::string, Shape>> layers;
    for (int i = 0; i < 8; ++i) {
        const auto name = "fc_" + std::to_string(i);
        layers.emplace_back(name + ".weight", Shape{1000, 1000});
        layers.emplace_back(name + ".bias", Shape{1000});
    }
    const auto blocks = whole(layers);
    for (int servers = 2; servers <= 4; ++servers) {
        std::vector<std::string> endpoints;
        for (int i = 0; i < servers; ++i) endpoints.push_back("node:" + std::to_string(i));
        const auto loads = loads_of(blocks, round_robin(blocks, endpoints));
        EXPECT_EQ(loads.size(), endpoints.size());
        // Greedy by size is at most 4/3 of the best (Graham 1969), and the best is 8 weights divided up.
        for (const auto& [server, load] : loads)
            EXPECT_LE(3 * load, 4 * ((8 + servers - 1) / servers) * 1'001'000) << server << " of " << servers;
    }
}

TEST(RoundRobinByName, CountsBlocksInTheOrderOfNamesAsPaddleDoes) {
    // fluid's optimizers sort by name, and its RoundRobin then counts: b_0 before w_0.
    const auto backward = whole(
        {{"fc_1.weight", {300, 20}}, {"fc_1.bias", {20}}, {"fc_0.weight", {64, 300}}, {"fc_0.bias", {300}}});
    EXPECT_THAT(round_robin_by_name(backward, {"a:1", "b:2", "c:3"}),
                ElementsAre("a:1", "c:3", "b:2", "a:1"));
    auto blocks = several({"w"}, 2);
    for (auto& block : slice("bias", {10}, 2, 8192)) blocks.push_back(std::move(block));
    EXPECT_THAT(round_robin_by_name(blocks, {"a:1", "b:2"}), ElementsAre("b:2", "a:1", "a:1"));
    auto many = slice("w", {12, 8192}, 12, 8192);  // w.block10 is behind w.block9
    const auto servers = round_robin_by_name(many, {"a:1", "b:2", "c:3"});
    for (std::size_t i = 0; i < servers.size(); ++i)
        EXPECT_EQ(servers[i], (std::vector<std::string>{"a:1", "b:2", "c:3"})[i % 3]);
}

TEST(HashName, DependsOnTheNameAloneAndOnNoProcess) {
    std::vector<std::string> names(300);
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = "fc_" + std::to_string(i) + ".weight";
    const std::vector<std::string> endpoints{"a:1", "b:2", "c:3"};
    const auto blocks = several(names, 2);
    const auto servers = hash_name(blocks, endpoints);
    auto reversed = blocks;
    std::reverse(reversed.begin(), reversed.end());
    auto again = hash_name(reversed, endpoints);
    std::reverse(again.begin(), again.end());
    EXPECT_EQ(servers, again);
    for (const auto& endpoint : endpoints)  // 600 blocks: each third is 200 +- 6 standard deviations of 11.5
        EXPECT_NEAR(std::count(servers.begin(), servers.end(), endpoint), 200, 70);
    // What was once placed stays there: values of this hash function, which its makers promise to keep.
    EXPECT_THAT(hash_name(several({"w", "fc_0.weight"}, 2), endpoints),
                ElementsAre("b:2", "a:1", "c:3", "a:1"));
}

}  // namespace
}  // namespace dtrain
