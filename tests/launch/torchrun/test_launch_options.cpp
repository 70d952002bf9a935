// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what torchrun's documentation says of each option, in the words of dtrain-launch (options.hpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/torchrun/launch_options.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch::torchrun {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using tests::refuses;

using Words = std::vector<std::string>;

const Circumstances circumstances{
    .cpus = 6, .random_id = "abcd", .python = "python3", .temporary_folder = "/tmp/dtrain-run.abcd"};

Options translated(Words words) {
    words.emplace_back("train.py");
    return launch_options(parse_run_options(words, {}).options, circumstances);
}

auto translating(Words words) {
    return [=] { translated(words); };
}

TEST(LaunchOptionsOfTorchrun, OneNode) {
    const auto options = translated({"--nproc-per-node", "4"});
    EXPECT_EQ(options.nproc_per_node, 4);
    EXPECT_EQ(options.master, std::nullopt);
    EXPECT_EQ(options.nnodes, "1");
    EXPECT_EQ(options.max_restart, 0);
    EXPECT_EQ(options.log_dir, "/tmp/dtrain-run.abcd");
    EXPECT_EQ(options.visible, VisibleGpus::keep);
    EXPECT_TRUE(options.no_banner);
    ASSERT_TRUE(options.torch);
    EXPECT_EQ(options.torch->job.run_id, "abcd");
    EXPECT_EQ(options.torch->master_port, std::nullopt);
    EXPECT_THAT(options.torch->interpreter, ElementsAre("python3", "-u"));
    EXPECT_TRUE(options.torch->script_is_file);
}

TEST(LaunchOptionsOfTorchrun, ProcessesPerNode) {
    EXPECT_EQ(translated({"--nproc-per-node", "cpu"}).nproc_per_node, 6);
    EXPECT_EQ(translated({"--nproc-per-node", "auto"}).nproc_per_node, std::nullopt);
    EXPECT_FALSE(translated({"--nproc-per-node", "auto"}).torch->needs_gpus);
    EXPECT_TRUE(translated({"--nproc-per-node", "gpu"}).torch->needs_gpus);
}

TEST(LaunchOptionsOfTorchrun, WhatRunsTheScript) {
    EXPECT_THAT(translated({"-m"}).torch->interpreter, ElementsAre("python3", "-u", "-m"));
    EXPECT_FALSE(translated({"-m"}).torch->script_is_file);
    EXPECT_THAT(translated({"--no-python"}).torch->interpreter, IsEmpty());
    EXPECT_THAT(translated({"--run-path", "--no-python"}).torch->interpreter, ElementsAre("python3", "-u"));
}

TEST(LaunchOptionsOfTorchrun, NodesWithNumbers) {
    const auto options =
        translated({"--nnodes", "2", "--node-rank", "1", "--master-addr", "n0", "--master-port", "29501"});
    EXPECT_EQ(options.master, "n0:29501");
    EXPECT_EQ(options.nnodes, "2");
    EXPECT_EQ(options.rank, 1);
    EXPECT_EQ(options.torch->job.run_id, "none");
    EXPECT_EQ(options.torch->master_port, std::nullopt) << "the launchers meet there";
    EXPECT_EQ(translated({"--nnodes", "2", "--master-addr", "n0"}).master, "n0:29500");
    EXPECT_EQ(translated({"--nnodes", "2", "--rdzv-endpoint", "n0:77"}).master, "n0:77");
}

TEST(LaunchOptionsOfTorchrun, NodesAsTheyCome) {
    const auto options =
        translated({"--nnodes", "3", "--rdzv-backend", "c10d", "--rdzv-endpoint", "n0", "--rdzv-id", "77",
                    "--rdzv-conf", "timeout=60", "--local-addr", "10.0.0.7"});
    EXPECT_EQ(options.master, "n0:29400");
    EXPECT_EQ(options.nnodes, "3");
    EXPECT_EQ(options.rank, std::nullopt);
    EXPECT_EQ(options.job_id, "77");
    EXPECT_EQ(options.host, "10.0.0.7");
    EXPECT_EQ(options.start_timeout, 60s);
    EXPECT_EQ(options.torch->job.run_id, "77");
}

TEST(LaunchOptionsOfTorchrun, ARangeOfNodesMeetsAtEtcd) {
    const auto options = translated(
        {"--nnodes", "1:4", "--rdzv-backend", "etcd-v2", "--rdzv-endpoint", "e:2379", "--max-restarts", "3"});
    EXPECT_EQ(options.master, "etcd://e:2379");
    EXPECT_EQ(options.nnodes, "1:4");
    EXPECT_EQ(options.max_restart, 3);
    EXPECT_EQ(translated({"--nnodes", "2:2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "n0"}).nnodes, "2");
}

TEST(LaunchOptionsOfTorchrun, SettingsOfTheMachineHoldUnlessTheCommandLineSaysOtherwise) {
    const auto site = options_of({{.name = "network_interface", .value = "ib0", .origin = "/etc/dtrain.toml"},
                                  {.name = "start-timeout", .value = "7", .origin = "/etc/dtrain.toml"},
                                  {.name = "max_restart", .value = "5", .origin = "/etc/dtrain.toml"}});
    const auto with = [&](Words words) {
        words.emplace_back("train.py");
        return launch_options(parse_run_options(words, {}).options, circumstances, site);
    };
    EXPECT_EQ(with({}).network_interface, "ib0");
    EXPECT_EQ(with({}).start_timeout, 7s);
    EXPECT_EQ(with({"--rdzv-conf", "timeout=9"}).start_timeout, 9s);
    EXPECT_EQ(with({}).max_restart, 0) << "torchrun's default is as good as given";
    EXPECT_THAT([] { options_of({{.name = "nnodes", .value = "2", .origin = "/etc/dtrain.toml"}}); },
                refuses("/etc/dtrain.toml: unknown setting \"nnodes\""));
}

TEST(LaunchOptionsOfTorchrun, NameOfTheRun) {
    const auto name = [](Words words) { return translated(std::move(words)).torch->job.run_id; };
    EXPECT_EQ(name({}), "abcd");
    EXPECT_EQ(name({"--standalone", "--rdzv-id", "7"}), "abcd");
    EXPECT_EQ(name({"--rdzv-id", "7"}), "7") << "torchrun forgets it";
    EXPECT_EQ(name({"--master-port", "29501"}), "none");
    EXPECT_EQ(name({"--rdzv-endpoint", "localhost:29502"}), "none");
    EXPECT_EQ(name({"--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"}), "none");
}

TEST(LaunchOptionsOfTorchrun, MasterPortOfOneNode) {
    EXPECT_EQ(translated({"--master-port", "29501"}).torch->master_port, 29501);
    EXPECT_EQ(translated({"--rdzv-endpoint", "localhost:29502"}).torch->master_port, 29502);
    EXPECT_EQ(translated({"--master-port", "29501"}).master, std::nullopt);
    EXPECT_EQ(translated({"--standalone", "--master-port", "29501"}).torch->master_port, std::nullopt);
    EXPECT_EQ(translated({"--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"}).torch->master_port,
              std::nullopt);
}

TEST(LaunchOptionsOfTorchrun, LogsAndEnd) {
    const auto options = translated({"--log-dir", "/logs", "--rdzv-id", "9", "--shutdown-timeout", "5",
                                     "--role", "trainer", "-t", "0:3", "--virtual-local-rank"});
    EXPECT_EQ(options.log_dir, "/logs/9_abcd");
    EXPECT_EQ(options.grace, 5s);
    EXPECT_EQ(options.torch->job.role, "trainer");
    EXPECT_EQ(options.torch->job.tee.text(), "0:3");
    EXPECT_TRUE(options.torch->job.virtual_local_rank);
}

TEST(LaunchOptionsOfTorchrun, WhatTorchrunWouldWaitForInVainIsRefused) {
    EXPECT_THAT(translating({"--nnodes", "2"}), refuses("--nnodes 2: the nodes have no place to meet"));
    EXPECT_THAT(translating({"--nnodes", "2", "--rdzv-backend", "c10d"}),
                refuses("needs --rdzv-endpoint HOST:PORT"));
    EXPECT_THAT(translating({"--nnodes", "1:2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "n0"}),
                refuses("needs etcd"));
    EXPECT_THAT(translating({"--nnodes", "2", "--node-rank", "2", "--master-addr", "n0"}),
                refuses("--node-rank 2: with --nnodes 2 it must be in 0..1"));
    EXPECT_THAT(translating({"--rdzv-backend", "etcd"}), refuses("needs --rdzv-endpoint"));
    EXPECT_THAT(translating({"--nnodes", "2", "--rdzv-endpoint", "n0:x"}), refuses("n0:x"));
}

}  // namespace
}  // namespace dtrain::launch::torchrun
