// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the file of Paddle's own test of --rank_mapping_file, and what launch/paddle_files.hpp promises.
#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/options/paddle_files.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using tests::refuses;

/// Of a file "f" with this content, and no other.
ReadFile reads(const std::string& content) {
    return [content](const std::string& path) { return path == "f" ? std::optional(content) : std::nullopt; };
}

Options mapped(const std::string& content, Options options = {}) {
    options.rank_mapping_file = "f";
    options.enable_auto_mapping = true;
    return with_rank_mapping(options, reads(content));
}

std::string in_current_folder(const std::string& name) {
    return (std::filesystem::current_path() / name).string();
}

TEST(RankMapping, NodesAndRanksAreThoseOfTheFile) {
    const auto one = mapped(R"({"ip_ranks": [{"ip": "127.0.0.1", "ranks": [0,1]}]})");
    EXPECT_EQ(one.ips, "127.0.0.1");
    EXPECT_EQ(one.nproc_per_node, 2);
    const auto two = mapped(
        R"({"ip_ranks": [{"ip": "10.0.0.2", "ranks": [3, 4, 5]}, {"ip": "10.0.0.1", "ranks": [0, 1, 2]}]})");
    EXPECT_EQ(two.ips, "10.0.0.1,10.0.0.2");
    EXPECT_EQ(two.nproc_per_node, 3);
}

TEST(RankMapping, CountsOnlyWhenItIsEnabled) {
    EXPECT_EQ(with_rank_mapping({.rank_mapping_file = "g"}, reads("")), (Options{.rank_mapping_file = "g"}));
    EXPECT_THAT([] { with_rank_mapping({.enable_auto_mapping = true}, reads("")); },
                refuses("--enable_auto_mapping", "--rank_mapping_file"));
}

TEST(RankMapping, WhatCannotBeIsRefused) {
    const std::string good = R"({"ip_ranks": [{"ip": "10.0.0.1", "ranks": [0, 1]}]})";
    for (const std::string bad :
         {"", "x", "[]", "{}", R"({"ip_ranks": []})", R"({"ip_ranks": 7})", R"({"ip_ranks": [{"ip": "a"}]})",
          R"({"ip_ranks": [{"ip": 1, "ranks": [0]}]})", R"({"ip_ranks": [{"ip": "a", "ranks": ["0"]}]})"})
        EXPECT_THAT([&] { mapped(bad); }, refuses("--rank_mapping_file f", "ip_ranks")) << bad;
    const auto ranks = [](const std::string& first, const std::string& second) {
        return R"({"ip_ranks": [{"ip": "a", "ranks": )" + first + R"(}, {"ip": "b", "ranks": )" + second +
               "}]}";
    };
    EXPECT_THAT([&] { mapped(ranks("[0, 1]", "[]")); }, refuses("node b", "no ranks"));
    EXPECT_THAT([&] { mapped(ranks("[0, 1]", "[2]")); }, refuses("a has 2 ranks", "b has 1"));
    EXPECT_THAT([&] { mapped(ranks("[0, 2]", "[1, 3]")); }, refuses("rank 2 of node a", "rank 1"));
    EXPECT_THAT([&] { mapped(ranks("[1, 2]", "[3, 4]")); }, refuses("rank 1 of node a", "rank 0"));
    EXPECT_THAT([&] { mapped(ranks("[0, 1]", "[1, 2]")); }, refuses("rank 1 of node b", "rank 2"));
    EXPECT_THAT([&] { mapped(good, {.ips = "b"}); }, refuses("--ips b", "--rank_mapping_file f"));
    EXPECT_THAT([&] { mapped(good, {.hostfile = "h"}); }, refuses("--hostfile h", "--rank_mapping_file f"));
    EXPECT_THAT([&] { mapped(good, {.nproc_per_node = 2}); },
                refuses("--nproc_per_node 2", "--rank_mapping_file f"));
    EXPECT_THAT(
        [&] { with_rank_mapping({.rank_mapping_file = "g", .enable_auto_mapping = true}, reads(good)); },
        refuses("--rank_mapping_file g", "cannot be read"));
}

TEST(PaddleFiles, ProgramsAreToldOfThem) {
    EXPECT_EQ(variables_of_paddle_files({}, reads("")), Environment{});
    EXPECT_EQ(
        variables_of_paddle_files({.auto_parallel_config = "f"}, reads(R"({"tuner_run_mode": "run_only"})")),
        (Environment{{"PADDLE_AUTO_PARALLEL_CONFIG", in_current_folder("f")},
                     {"PADDLE_AUTO_PARALLEL_STAGE", "run"}}));
    EXPECT_EQ(variables_of_paddle_files({.auto_parallel_config = "f"}, reads("{}")),
              (Environment{{"PADDLE_AUTO_PARALLEL_CONFIG", in_current_folder("f")},
                           {"PADDLE_AUTO_PARALLEL_STAGE", "run"}}));
    EXPECT_EQ(variables_of_paddle_files({.rank_mapping_file = "f", .enable_auto_mapping = true}, reads("")),
              (Environment{{"PADDLE_RANK_MAPPING_PATH", in_current_folder("f")},
                           {"PADDLE_ENABLE_AUTO_MAPPING", "True"}}));
    EXPECT_EQ(variables_of_paddle_files({.rank_mapping_file = "f"}, reads("")), Environment{});
}

TEST(PaddleFiles, ConfigurationsThatCannotBeAreRefused) {
    for (const std::string bad : {"", "x: 1", "[1]", "7", R"({"tuner_run_mode": 3})"})
        EXPECT_THAT([&] { variables_of_paddle_files({.auto_parallel_config = "f"}, reads(bad)); },
                    refuses("--auto_parallel_config f", "no JSON object"))
            << bad;
    EXPECT_THAT(
        [] {
            variables_of_paddle_files({.auto_parallel_config = "f"},
                                      reads(R"({"tuner_run_mode": "tuner_only"})"));
        },
        refuses("tuner_only", "run_only"));
    EXPECT_THAT([] { variables_of_paddle_files({.auto_parallel_config = "g"}, reads("{}")); },
                refuses("--auto_parallel_config g", "cannot be read"));
}

}  // namespace
}  // namespace dtrain::launch
