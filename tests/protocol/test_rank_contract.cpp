// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what was written is read again; the variables' names and words are those of docs/environment.md,
// written out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "protocol/rank_contract.hpp"

namespace dtrain::cluster {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using namespace std::chrono_literals;

RankContract everything() {
    return {.sends_events = true,
            .sends_output = true,
            .shows_by_events = true,
            .control = RankContract::Control::standard_input,
            .binds = false,
            .run_mode = RunMode::heterogeneous,
            .backend = "gloo",
            .network_interface = "ib0",
            .gloo_folder = "/tmp/gloo",
            .pod_name = "abcdef",
            .selected_gpus = "0,2",
            .visible_gpus = "4,6|GPU-1",
            .working_folder = "/home/a b",
            .mpiruns_variable = "HWLOC_COMPONENTS",
            .heartbeat = 5s,
            .node_program = std::vector<std::string>{"python", "a b.py", "--name=it's", ""},
            .node_working_folder = "/scratch",
            .node_log_folder = "log"};
}

Environment written(const RankContract& contract) {
    Environment out;
    contract.write(out);
    return out;
}

TEST(RankContract, ComesBackFromTheEnvironment) {
    EXPECT_EQ(RankContract::read(written(everything())), everything());
    EXPECT_EQ(RankContract::read(written({})), RankContract{});
    const RankContract others{.sends_events = false,
                              .sends_output = false,
                              .shows_by_events = false,
                              .control = RankContract::Control::signals,
                              .binds = true,
                              .heartbeat = 0s};
    EXPECT_EQ(RankContract::read(written(others)), others);
}

TEST(RankContract, HasTheDocumentedVariables) {
    EXPECT_EQ(written(everything()),
              (Environment{{"DTRAIN_EVENTS", "1"},
                           {"DTRAIN_TELL_OUTPUT", "1"},
                           {"DTRAIN_SHOW_BY_EVENTS", "1"},
                           {"DTRAIN_CONTROL", "stdin"},
                           {"DTRAIN_BIND", "none"},
                           {"DTRAIN_RUN_MODE", "ps-heter"},
                           {"DTRAIN_BACKEND", "gloo"},
                           {"DTRAIN_NETWORK_INTERFACE", "ib0"},
                           {"DTRAIN_GLOO_FS_PATH", "/tmp/gloo"},
                           {"DTRAIN_POD_NAME", "abcdef"},
                           {"DTRAIN_SELECT", "0,2"},
                           {"DTRAIN_VISIBLE", "4,6|GPU-1"},
                           {"DTRAIN_WORKING_DIR", "/home/a b"},
                           {"DTRAIN_MPIRUNS_VARIABLE", "HWLOC_COMPONENTS"},
                           {"DTRAIN_HEARTBEAT", "5"},
                           {"DTRAIN_NODE_PROGRAM", "python 'a b.py' '--name=it'\\''s' ''"},
                           {"DTRAIN_NODE_WORKING_DIR", "/scratch"},
                           {"DTRAIN_NODE_LOG_DIR", "log"}}));
    EXPECT_EQ(written({}), Environment{});
}

TEST(RankContract, LaunchersWriteTheirPartsOneAfterTheOther) {
    auto environment = written({.binds = false, .backend = "gloo", .heartbeat = 5s});
    RankContract{.backend = "nccl", .node_log_folder = "/there"}.write(environment);
    EXPECT_EQ(
        RankContract::read(environment),
        (RankContract{.binds = false, .backend = "nccl", .heartbeat = 5s, .node_log_folder = "/there"}));
}

TEST(RankContract, ACommandMayBeLongerThanAVariable) {
    const RankContract contract{.node_program = std::vector<std::string>(30'000, "--word")};
    const auto environment = written(contract);
    EXPECT_TRUE(environment.has("DTRAIN_NODE_PROGRAM_2"));
    EXPECT_EQ(RankContract::read(environment), contract);
}

TEST(RankContract, EachNodeHasItsGpus) {
    EXPECT_EQ(everything().visible_gpus_of(0), "4,6");
    EXPECT_EQ(everything().visible_gpus_of(1), "GPU-1");
    EXPECT_EQ(RankContract{}.visible_gpus_of(0), std::nullopt);
    EXPECT_THAT([] { return everything().visible_gpus_of(2); },
                ThrowsMessage<UsageError>(HasSubstr("DTRAIN_VISIBLE")));
}

TEST(RankContract, AnEmptyWordIsNoWord) {
    Environment environment;
    for (const char* name : {"DTRAIN_EVENTS", "DTRAIN_TELL_OUTPUT", "DTRAIN_CONTROL", "DTRAIN_BIND",
                             "DTRAIN_RUN_MODE", "DTRAIN_HEARTBEAT"})
        environment.set(name, "");
    EXPECT_EQ(RankContract::read(environment), RankContract{});
}

TEST(RankContract, NamesVariableAndValueThatNoLauncherWrites) {
    const auto refused = [](const char* name, const char* value, const char* expected) {
        EXPECT_THAT(
            [&] {
                return RankContract::read(Environment{{name, value}});
            },
            ThrowsMessage<UsageError>(AllOf(HasSubstr(name), HasSubstr(value), HasSubstr(expected))));
    };
    refused("DTRAIN_EVENTS", "yes", "1 or 0");
    refused("DTRAIN_TELL_OUTPUT", "2", "1 or 0");
    refused("DTRAIN_CONTROL", "socket", "signals or stdin");
    refused("DTRAIN_BIND", "core", "apply or none");
    refused("DTRAIN_RUN_MODE", "pipeline", "collective or ps or ps-heter or rpc");
    refused("DTRAIN_HEARTBEAT", "often", "often");
    refused("DTRAIN_HEARTBEAT", "-1", "-1");
    refused("DTRAIN_NODE_PROGRAM", "python 'a.py", "a.py");
}

}  // namespace
}  // namespace dtrain::cluster
