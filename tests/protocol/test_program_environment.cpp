// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the environments that Paddle's fleet.launch (2.0-2.3), its distributed.launch (2.4-3.x) and
// torchrun give to their processes, written down name by name.
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/cluster.hpp>

#include "identity/captured.hpp"
#include "protocol/program_environment.hpp"

namespace dtrain::cluster {
namespace {

using Variables = std::map<std::string, std::string>;

ProgramContext context_of(int rank, int size) {
    ProgramContext out;
    out.identity = {Launcher::open_mpi, rank, size, rank, size, 0, 1, "job", {"vm"}, {size}};
    out.endpoints = consecutive_endpoints({"127.0.0.1"}, {size}, 12000);
    out.threads = 4;
    out.log_dir = "/home/me/log";
    out.gloo_fs_path = "/tmp/gloo.job";
    out.pod_name = "qwerty";
    return out;
}

Variables variables_of(const Environment& environment) {
    return {environment.begin(), environment.end()};
}

TEST(ProgramEnvironment, TwoRanksOnCpu) {
    EXPECT_EQ(variables_of(program_environment({{"PATH", "/bin"}}, context_of(1, 2))),
              (Variables{{"PATH", "/bin"},
                         {"PADDLE_TRAINER_ID", "1"},
                         {"PADDLE_TRAINERS_NUM", "2"},
                         {"PADDLE_CURRENT_ENDPOINT", "127.0.0.1:12001"},
                         {"PADDLE_TRAINER_ENDPOINTS", "127.0.0.1:12000,127.0.0.1:12001"},
                         {"PADDLE_RANK_IN_NODE", "1"},
                         {"PADDLE_LOCAL_DEVICE_IDS", ""},
                         {"PADDLE_WORLD_DEVICE_IDS", ","},
                         {"PADDLE_WITH_GLOO", "0"},
                         {"PADDLE_GLOO_RENDEZVOUS", "3"},
                         {"PADDLE_GLOO_FS_PATH", "/tmp/gloo.job"},
                         {"PADDLE_DISTRI_BACKEND", "gloo"},
                         {"PADDLE_MASTER", "127.0.0.1:12002"},
                         {"PADDLE_GLOBAL_SIZE", "2"},
                         {"PADDLE_LOCAL_SIZE", "2"},
                         {"PADDLE_GLOBAL_RANK", "1"},
                         {"PADDLE_LOCAL_RANK", "1"},
                         {"PADDLE_NNODES", "1"},
                         {"PADDLE_AUTO_CLUSTER", "0"},
                         {"POD_NAME", "qwerty"},
                         {"PADDLE_LOG_DIR", "/home/me/log"},
                         {"RANK", "1"},
                         {"WORLD_SIZE", "2"},
                         {"LOCAL_RANK", "1"},
                         {"LOCAL_WORLD_SIZE", "2"},
                         {"GROUP_RANK", "0"},
                         {"MASTER_ADDR", "127.0.0.1"},
                         {"MASTER_PORT", "12003"},
                         {"OMP_NUM_THREADS", "4"}}));
}

TEST(ProgramEnvironment, OneGpuForEachOfTwoRanks) {
    auto context = context_of(1, 2);
    context.devices_of_rank = {{0}, {1}};
    context.selected_devices = {1};
    context.cuda_visible_devices = "4,6";
    auto cpu = variables_of(program_environment({}, context_of(1, 2)));
    cpu["FLAGS_selected_gpus"] = "1";
    cpu["FLAGS_selected_accelerators"] = "1";
    cpu["PADDLE_LOCAL_DEVICE_IDS"] = "1";
    cpu["PADDLE_WORLD_DEVICE_IDS"] = "0,1";
    cpu["PADDLE_DISTRI_BACKEND"] = "nccl";
    cpu["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
    cpu["CUDA_VISIBLE_DEVICES"] = "4,6";
    EXPECT_EQ(variables_of(program_environment({}, context)), cpu);
}

TEST(ProgramEnvironment, TwoGpusForEachOfTwoRanks) {
    auto context = context_of(1, 2);
    context.devices_of_rank = {{0, 1}, {2, 3}};
    context.selected_devices = {2, 3};
    context.cuda_visible_devices = "0,1,2,3";
    const auto out = program_environment({}, context);
    EXPECT_EQ(out.get("PADDLE_WORLD_DEVICE_IDS"), "0:1,2:3");
    EXPECT_EQ(out.get("PADDLE_LOCAL_DEVICE_IDS"), "2,3");
    EXPECT_EQ(out.get("FLAGS_selected_gpus"), "2,3");
}

TEST(ProgramEnvironment, DevicesOfOtherNodesThatAreNotKnownAreNotMadeUp) {
    auto context = context_of(0, 4);
    context.devices_of_rank = {{0}, {1}};
    context.selected_devices = {0};
    const auto out = program_environment({{"PADDLE_WORLD_DEVICE_IDS", "stale"}}, context);
    EXPECT_FALSE(out.has("PADDLE_WORLD_DEVICE_IDS"));
    EXPECT_EQ(out.get("PADDLE_LOCAL_DEVICE_IDS"), "0");
}

TEST(ProgramEnvironment, NumbersTheNodesOfALargerJob) {
    auto context = context_of(3, 4);
    context.identity.local_rank = 1;
    context.identity.local_size = 2;
    context.identity.node_rank = 1;
    context.identity.nodes = 2;
    context.endpoints = consecutive_endpoints({"n01", "n02"}, {2, 2}, 12000);
    const auto out = program_environment({}, context);
    EXPECT_EQ(out.get("PADDLE_CURRENT_ENDPOINT"), "n02:12001");
    EXPECT_EQ(out.get("PADDLE_NNODES"), "2");
    EXPECT_EQ(out.get("GROUP_RANK"), "1");
    EXPECT_EQ(out.get("PADDLE_RANK_IN_NODE"), "1");
    EXPECT_EQ(out.get("LOCAL_WORLD_SIZE"), "2");
    EXPECT_EQ(out.get("MASTER_ADDR"), "n01");
}

TEST(ProgramEnvironment, DtrainRunAddsTheRestOfTorchruns) {
    auto context = context_of(3, 4);
    context.identity.local_rank = 1;
    context.identity.nodes = 2;
    EXPECT_FALSE(program_environment({}, context).has("TORCHELASTIC_RUN_ID"));
    context.torch = TorchJob{.role = "trainer", .run_id = "77", .max_restarts = 2};
    const auto out = program_environment({{"DTRAIN_TORCH_JOB", "{}"}}, context);
    const Variables expected{{"GROUP_WORLD_SIZE", "2"},
                             {"ROLE_NAME", "trainer"},
                             {"ROLE_RANK", "3"},
                             {"ROLE_WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},
                             {"TORCHELASTIC_MAX_RESTARTS", "2"},
                             {"TORCHELASTIC_RESTART_COUNT", "0"},
                             {"TORCHELASTIC_RUN_ID", "77"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                             {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"}};
    for (const auto& [name, value] : expected) EXPECT_EQ(out.get(name), value) << name;
    EXPECT_FALSE(out.has("DTRAIN_TORCH_JOB"));

    context.torch->virtual_local_rank = true;
    const auto kept = program_environment(
        {{"TORCHELASTIC_RESTART_COUNT", "1"}, {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "3"}}, context);
    EXPECT_EQ(kept.get("LOCAL_RANK"), "0");
    EXPECT_EQ(kept.get("TORCHELASTIC_RESTART_COUNT"), "1");
    EXPECT_EQ(kept.get("TORCH_NCCL_ASYNC_ERROR_HANDLING"), "3");
}

TEST(ProgramEnvironment, RemovesProxiesAndDtrainsOwn) {
    const auto out = program_environment({{"http_proxy", "p"},
                                          {"https_proxy", "p"},
                                          {"HTTP_PROXY", "p"},
                                          {"HTTPS_PROXY", "p"},
                                          {"no_proxy", "kept"},
                                          {"DTRAIN_EVENTS", "1"},
                                          {"DTRAIN_HOSTS", "a,b"},
                                          {"DTRAIN_RANK", "0"},
                                          {"DTRAIN_GPUS", "0;1"},
                                          {"DTRAIN_ENDPOINTS", "a:1,b:1"},
                                          {"DTRAIN_JOB_TOKEN", "kept"},
                                          {"DTRAIN_COMM_TIMEOUT", "kept"},
                                          {"DTRAIN_SPAWN", "kept"},
                                          {"DTRAIN_OF_THE_USER", "kept"}},
                                         context_of(0, 2));
    auto expected = program_environment({}, context_of(0, 2));
    for (const char* name :
         {"no_proxy", "DTRAIN_JOB_TOKEN", "DTRAIN_COMM_TIMEOUT", "DTRAIN_SPAWN", "DTRAIN_OF_THE_USER"})
        expected.set(name, "kept");
    EXPECT_EQ(variables_of(out), variables_of(expected));
}

TEST(ProgramEnvironment, KeepsWhatLaunchersAndUsersSet) {
    auto inherited = captured_environments().at("open_mpi_4_under_slurm").at(1);
    const auto launchers = variables_of(inherited);
    inherited.set("OMP_NUM_THREADS", "2");
    inherited.set("PADDLE_WITH_GLOO", "1");
    inherited.set("CUDA_VISIBLE_DEVICES", "7");
    inherited.set("CUDA_DEVICE_ORDER", "FASTEST_FIRST");
    const auto out = program_environment(inherited, context_of(1, 5));
    for (const auto& [name, value] : launchers) EXPECT_EQ(out.get(name), value) << name;
    EXPECT_EQ(out.get("OMP_NUM_THREADS"), "2");
    EXPECT_EQ(out.get("PADDLE_WITH_GLOO"), "1");
    // Without devices of ours, CUDA's variables are the user's business.
    EXPECT_EQ(out.get("CUDA_VISIBLE_DEVICES"), "7");
    EXPECT_EQ(out.get("CUDA_DEVICE_ORDER"), "FASTEST_FIRST");
    EXPECT_EQ(program_environment({{"OMP_NUM_THREADS", ""}}, context_of(0, 1)).get("OMP_NUM_THREADS"), "4");
}

TEST(ProgramEnvironment, ThreadsThatPbsGivesToAWholeChunkAreNoUsersWish) {
    const auto threads = [](const char* given, const char* of_chunk) {
        const Environment of_pbs{{"PBS_JOBID", "12.server"}, {"NCPUS", of_chunk}, {"OMP_NUM_THREADS", given}};
        return program_environment(of_pbs, context_of(0, 2)).get("OMP_NUM_THREADS");
    };
    EXPECT_EQ(threads("8", "8"), "4") << "two ranks share a chunk of 8 processors";
    EXPECT_EQ(threads("2", "2"), "2") << "ompthreads=2";
    EXPECT_EQ(threads("6", "8"), "6") << "the job's script says so";
    EXPECT_EQ(program_environment({{"NCPUS", "8"}, {"OMP_NUM_THREADS", "8"}}, context_of(0, 2))
                  .get("OMP_NUM_THREADS"),
              "8")
        << "no job of PBS";
}

TEST(ProgramEnvironment, ALauncherInsideALauncherLeavesNothingStale) {
    auto gpu = context_of(0, 2);
    gpu.devices_of_rank = {{0}, {1}};
    gpu.selected_devices = {0};
    gpu.cuda_visible_devices = "0,1";
    gpu.backup_env_path = "/home/me/log/backup_env.0.json";
    const auto outer = program_environment({}, gpu);
    EXPECT_EQ(outer.get("PADDLE_BACKUP_ENV_PATH"), "/home/me/log/backup_env.0.json");

    auto inner = program_environment(outer, context_of(1, 3));
    auto expected = program_environment({}, context_of(1, 3));
    expected.set("CUDA_VISIBLE_DEVICES", "0,1");
    expected.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    EXPECT_EQ(variables_of(inner), variables_of(expected));
}

TEST(ProgramEnvironment, NoStringIsTooLongForExec) {
    constexpr std::size_t kernel_limit = 128 * 1024;
    for (const int nodes : {10, 700, 800, 2000}) {
        SCOPED_TRACE(nodes);
        ProgramContext context = context_of(0, 8 * nodes);
        std::vector<std::string> hosts;
        for (int node = 0; node < nodes; ++node) hosts.push_back(fmt::format("node{:06}.cluster", node));
        context.endpoints = consecutive_endpoints(hosts, std::vector<int>(hosts.size(), 8), 12000);
        const auto out = program_environment({{"PADDLE_TRAINER_ENDPOINTS", "stale"}}, context);
        for (const auto& text : out.to_strings()) EXPECT_LT(text.size() + 1, kernel_limit);
        // A list needs 25 characters for each rank.
        EXPECT_EQ(out.has("PADDLE_TRAINER_ENDPOINTS"),
                  25U * 8U * static_cast<unsigned>(nodes) - 1U < 120U * 1024U);
        EXPECT_EQ(out.get("PADDLE_CURRENT_ENDPOINT"), "node000000.cluster:12000");
    }
}

}  // namespace
}  // namespace dtrain::cluster
