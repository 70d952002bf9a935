// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: `torchrun --help` of torch 2.15, and argparse: options end at the script, both spellings, PET_
// variables.
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/torchrun/option_table.hpp"
#include "launch/torchrun/run_options.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch::torchrun {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::refuses;

using Words = std::vector<std::string>;

RunOptions parsed(const Words& words, const Environment& environment = {}) {
    const auto result = parse_run_options(words, environment);
    EXPECT_EQ(result.text, std::nullopt);
    return result.options;
}

Words notices(const Words& words) {
    return parse_run_options(words, {}).notices;
}

auto parsing(Words words, Environment environment = {}) {
    return [=] { parse_run_options(words, environment); };
}

TEST(RunOptions, EveryOptionOfTorchrunIsThere) {
    constexpr std::array names{"nnodes",
                               "nproc-per-node",
                               "rdzv-backend",
                               "rdzv-endpoint",
                               "rdzv-id",
                               "rdzv-conf",
                               "standalone",
                               "max-restarts",
                               "monitor-interval",
                               "start-method",
                               "event-log-handler",
                               "role",
                               "module",
                               "no-python",
                               "run-path",
                               "log-dir",
                               "redirects",
                               "tee",
                               "log-line-prefix-template",
                               "local-ranks-filter",
                               "duplicate-stdout-filters",
                               "duplicate-stderr-filters",
                               "node-rank",
                               "master-addr",
                               "master-port",
                               "local-addr",
                               "logs-specs",
                               "numa-binding",
                               "signals-to-handle",
                               "shutdown-timeout",
                               "virtual-local-rank"};
    std::vector<std::string_view> table;
    for (const auto& row : option_table()) table.push_back(row.name);
    EXPECT_THAT(table, testing::UnorderedElementsAreArray(names));
}

TEST(RunOptions, Defaults) {
    const auto options = parsed({"train.py"});
    EXPECT_EQ(options.min_nodes, 1);
    EXPECT_EQ(options.max_nodes, 1);
    EXPECT_EQ(options.processes, RunOptions::Processes::number);
    EXPECT_EQ(options.nproc_per_node, 1);
    EXPECT_EQ(options.backend, RunOptions::Backend::fixed);
    EXPECT_EQ(options.id, "none");
    EXPECT_EQ(options.max_restarts, 0);
    EXPECT_EQ(options.role, "default");
    EXPECT_EQ(options.log_dir, "");
    EXPECT_FALSE(options.redirects.any());
    EXPECT_FALSE(options.tee.any());
    EXPECT_EQ(options.shutdown_timeout, 30s);
    EXPECT_EQ(options.master_port, std::nullopt);
    EXPECT_EQ(options.script, "train.py");
    EXPECT_THAT(options.script_arguments, IsEmpty());
}

TEST(RunOptions, BothSpellingsWithAndWithoutAnEqualsSign) {
    for (const Words& words : {Words{"--nproc-per-node", "4"}, Words{"--nproc_per_node", "4"},
                               Words{"--nproc-per-node=4"}, Words{"--nproc_per_node=4"}}) {
        auto line = words;
        line.insert(line.end(), {"train.py", "--nproc-per-node", "7"});
        const auto options = parsed(line);
        EXPECT_EQ(options.nproc_per_node, 4);
        EXPECT_THAT(options.script_arguments, ElementsAre("--nproc-per-node", "7"));
    }
}

TEST(RunOptions, ShortOptions) {
    const auto options = parsed({"-m", "-r", "3", "-t3", "package.train", "-r", "1"});
    EXPECT_TRUE(options.module);
    EXPECT_EQ(options.redirects.of(0), (cluster::StreamChoice::Streams{.out = true, .err = true}));
    EXPECT_TRUE(options.tee.any());
    EXPECT_EQ(options.script, "package.train");
    EXPECT_THAT(options.script_arguments, ElementsAre("-r", "1"));
}

TEST(RunOptions, ProcessesPerNode) {
    using Processes = RunOptions::Processes;
    EXPECT_EQ(parsed({"--nproc-per-node", "gpu", "a.py"}).processes, Processes::one_per_gpu);
    EXPECT_EQ(parsed({"--nproc-per-node", "cpu", "a.py"}).processes, Processes::one_per_cpu);
    EXPECT_EQ(parsed({"--nproc-per-node", "auto", "a.py"}).processes, Processes::one_per_gpu_or_cpu);
}

TEST(RunOptions, NodesMayBeARange) {
    const auto options = parsed({"--nnodes=2:4", "a.py"});
    EXPECT_EQ(options.min_nodes, 2);
    EXPECT_EQ(options.max_nodes, 4);
    EXPECT_EQ(parsed({"--nnodes=2:4", "--standalone", "a.py"}).max_nodes, 1);
}

TEST(RunOptions, VariablesPresetWhatTheCommandLineDoesNotSay) {
    const Environment environment{{"PET_NPROC_PER_NODE", "3"},
                                  {"PET_MODULE", "1"},
                                  {"PET_STANDALONE", "0"},
                                  {"PET_MASTER_PORT", "2500"}};
    const auto options = parsed({"a"}, environment);
    EXPECT_EQ(options.nproc_per_node, 3);
    EXPECT_TRUE(options.module);
    EXPECT_FALSE(options.standalone);
    EXPECT_EQ(options.master_port, 2500);
    EXPECT_EQ(parsed({"--nproc-per-node", "2", "a"}, environment).nproc_per_node, 2);
}

TEST(RunOptions, TorchsOwnVariables) {
    const Environment environment{{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "7"},
                                  {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "${rank}> "}};
    EXPECT_EQ(parsed({"a.py"}, environment).shutdown_timeout, 7s);
    EXPECT_EQ(parsed({"a.py"}, environment).line_prefix, "${rank}> ");
    EXPECT_EQ(parsed({"--shutdown-timeout", "3", "a.py"}, environment).shutdown_timeout, 3s);
}

TEST(RunOptions, TimeToJoinIsInTheRendezvousSettings) {
    EXPECT_EQ(parsed({"--rdzv-conf", "read_timeout=5, timeout=90", "a.py"}).join_timeout, 90s);
    EXPECT_EQ(parsed({"--rdzv-conf", "is_host=1", "a.py"}).join_timeout, std::nullopt);
}

TEST(RunOptions, RanksThatAreShown) {
    EXPECT_TRUE(parsed({"a.py"}).shown_local_ranks.contains(7));
    const auto some = parsed({"--local-ranks-filter", "0, 2", "a.py"}).shown_local_ranks;
    EXPECT_TRUE(some.contains(0));
    EXPECT_FALSE(some.contains(1));
    EXPECT_TRUE(some.contains(2));
    for (const char* text : {"0-2", "all", "none"})
        EXPECT_THAT(parsing({"--local-ranks-filter", text, "a.py"}),
                    refuses("local ranks separated by commas"));
}

TEST(RunOptions, WrongValuesAreRefusedWithWhatTheyShouldBe) {
    EXPECT_THAT(parsing({"--nnodes", "3:2", "a.py"}), refuses("--nnodes 3:2: it must be a number of nodes"));
    EXPECT_THAT(parsing({"--nproc-per-node", "xpu", "a.py"}), refuses("xpu: it must be auto, gpu, cpu or"));
    EXPECT_THAT(parsing({"--rdzv-backend", "mpi", "a.py"}), refuses("mpi: it must be static, c10d, etcd"));
    EXPECT_THAT(parsing({"--max-restarts", "-1", "a.py"}), refuses("--max-restarts -1: it must be"));
    EXPECT_THAT(parsing({"--rdzv-conf", "timeout", "a.py"}), refuses("KEY=VALUE"));
    EXPECT_THAT(parsing({"-r", "4", "a.py"}), refuses("--redirects: \"4\" names no streams"));
    EXPECT_THAT(parsing({"--local-ranks-filter", "a", "a.py"}), refuses("local ranks separated by commas"));
    EXPECT_THAT(parsing({"--start-method", "thread", "a.py"}), refuses("one of spawn, fork, forkserver"));
    EXPECT_THAT(parsing({"a.py"}, {{"PET_NNODES", "x"}}), refuses("PET_NNODES= x: it must be"));
    EXPECT_THAT(parsing({"--module", "--no-python", "a"}), refuses("contradict"));
}

TEST(RunOptions, WhatIsUnknownOrMissingIsNamed) {
    EXPECT_THAT(parsing({"--nproc-per-nod", "2", "a.py"}),
                refuses("unknown option \"--nproc-per-nod\" (did you mean --nproc-per-node?)"));
    EXPECT_THAT(parsing({"--nnodes", "1"}), refuses("no training script"));
    EXPECT_THAT(parsing({"--logs-specs", "mine", "a.py"}),
                refuses("--logs-specs mine is refused: it is loaded by torch"));
    EXPECT_THAT(parsing({"--duplicate-stdout-filters", "loss", "a.py"}), refuses("grep"));
}

TEST(RunOptions, WhatHasNoEffectIsSaid) {
    EXPECT_THAT(notices({"--monitor-interval", "5", "a.py"}),
                ElementsAre(HasSubstr("--monitor-interval has no effect: the end of a rank is an event")));
    EXPECT_THAT(notices({"--monitor-interval", "0.1", "a.py"}), IsEmpty());
    EXPECT_THAT(notices({"--rdzv-backend", "c10d", "--node-rank", "1", "a.py"}),
                ElementsAre("--node-rank counts only with --rdzv-backend static"));
    EXPECT_THAT(notices({"--standalone", "--nnodes", "1", "--rdzv-id", "7", "a.py"}),
                ElementsAre("--rdzv-id counts only without --standalone"));
}

TEST(RunOptions, HelpNamesEveryOptionThatWorks) {
    const auto help = parse_run_options({"--help"}, {}).text.value();
    for (const auto& row : option_table()) {
        const bool shown = help.find("--" + std::string(row.name)) != std::string::npos;
        EXPECT_EQ(shown, row.answer != Answer::refused) << row.name;
    }
    EXPECT_THAT(parse_run_options({"--version"}, {}).text.value(), testing::StartsWith("dtrain "));
    EXPECT_THAT(parse_run_options({"--print-completion", "bash"}, {}).text.value(),
                AllOf(HasSubstr("dtrain-run"), HasSubstr("--nproc_per_node")));
    EXPECT_THAT(parse_run_options({"--print-man"}, {}).text.value(), HasSubstr(".TH"));
}

}  // namespace
}  // namespace dtrain::launch::torchrun
