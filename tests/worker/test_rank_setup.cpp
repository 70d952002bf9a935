// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: rules of the header, worked out by hand on a machine of two sockets with two cores and one GPU
// each.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "protocol/server_environment.hpp"
#include "worker/rank_setup.hpp"

namespace dtrain::worker {
namespace {

using cluster::Identity;
using cluster::Launcher;
using cluster::RankAssignment;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::ThrowsMessage;

/// Cores 0,1 and GPU 0 on socket 0; cores 2,3 and GPU 1 on socket 1.
topology::Machine two_small_sockets() {
    topology::Machine machine{.hostname = "small", .allowed = CpuSet::range(0, 3)};
    for (int core = 0; core < 4; ++core)
        machine.cores.push_back({.package = core / 2, .numa = core / 2, .cpus = CpuSet::range(core, core)});
    for (int socket = 0; socket < 2; ++socket) {
        const auto cpus = CpuSet::range(2 * socket, 2 * socket + 1);
        machine.numa_nodes.push_back({.os_index = socket, .cpus = cpus});
        machine.gpus.push_back({.index = socket,
                                .pci = {.bus = static_cast<std::uint8_t>(0x20 + 0x80 * socket)},
                                .local_cpus = cpus});
        machine.adapters.push_back({.name = socket == 0 ? "mlx5_0" : "mlx5_1",
                                    .pci = {.bus = static_cast<std::uint8_t>(0x08 + 0x80 * socket)},
                                    .rdma = true,
                                    .local_cpus = cpus});
    }
    return machine;
}

/// Ranks that take the visible devices in turn.
std::vector<RankAssignment> each_in_turn(const topology::Machine& machine, const CpuSet& usable,
                                         const std::optional<std::string>& cuda_visible_devices,
                                         int local_size) {
    const auto visible = topology::visible_gpus(machine, cuda_visible_devices);
    return assign_node(machine, usable, visible, devices_in_turn(visible.size(), local_size));
}

TEST(AssignNode, OneDevicePerRankInVisibleOrder) {
    const auto machine = two_small_sockets();
    EXPECT_THAT(each_in_turn(machine, machine.allowed, "1,0", 2),
                ElementsAre(RankAssignment{.cpus = CpuSet::range(2, 3),
                                           .numa_nodes = {1},
                                           .devices = {0},
                                           .threads = 2,
                                           .adapter = "mlx5_1"},
                            RankAssignment{.cpus = CpuSet::range(0, 1),
                                           .numa_nodes = {0},
                                           .devices = {1},
                                           .threads = 2,
                                           .adapter = "mlx5_0"}));
}

TEST(AssignNode, MoreRanksThanDevicesShareThem) {
    const auto machine = two_small_sockets();
    const auto ranks = each_in_turn(machine, machine.allowed, std::nullopt, 4);
    ASSERT_EQ(ranks.size(), 4U);
    const std::vector<int> cores{0, 2, 1, 3};
    for (std::size_t rank = 0; rank < 4; ++rank) {
        EXPECT_THAT(ranks[rank].devices, ElementsAre(static_cast<int>(rank % 2)));
        EXPECT_EQ(ranks[rank].cpus, CpuSet::range(cores[rank], cores[rank]));
        EXPECT_EQ(ranks[rank].threads, 1);
        EXPECT_FALSE(ranks[rank].shared);
    }
}

TEST(AssignNode, FewerRanksThanDevicesLeaveSome) {
    const auto machine = two_small_sockets();
    const auto ranks = each_in_turn(machine, machine.allowed, std::nullopt, 1);
    ASSERT_EQ(ranks.size(), 1U);
    EXPECT_THAT(ranks[0].devices, ElementsAre(0));
    EXPECT_EQ(ranks[0].cpus, CpuSet::range(0, 1));
}

TEST(AssignNode, WithoutDevicesCpuRanks) {
    const auto machine = two_small_sockets();
    for (const auto& ranks : {each_in_turn(machine, machine.allowed, "", 2),
                              each_in_turn(topology::Machine{.allowed = machine.allowed,
                              .cores = machine.cores,
                              .numa_nodes = machine.numa_nodes,
                              .adapters = machine.adapters},
                                           machine.allowed, std::nullopt, 2)})
        EXPECT_THAT(
            ranks,
            ElementsAre(
                RankAssignment{
                    .cpus = CpuSet::range(0, 1), .numa_nodes = {0}, .threads = 2, .adapter = "mlx5_0"},
                RankAssignment{
                    .cpus = CpuSet::range(2, 3), .numa_nodes = {1}, .threads = 2, .adapter = "mlx5_1"}));
}

TEST(AssignNode, DevicesThatTheMachineDoesNotShowHavePositionsToo) {
    auto machine = two_small_sockets();
    machine.gpus.clear();
    const auto ranks = each_in_turn(machine, machine.allowed, "0,1", 2);
    EXPECT_THAT(ranks[0].devices, ElementsAre(0));
    EXPECT_THAT(ranks[1].devices, ElementsAre(1));
    EXPECT_EQ(ranks[0].cpus | ranks[1].cpus, machine.allowed);
}

TEST(AssignNode, OnlyUsableProcessors) {
    const auto machine = two_small_sockets();
    const auto ranks = each_in_turn(machine, CpuSet::range(0, 1), std::nullopt, 2);
    EXPECT_EQ(ranks[0].cpus, CpuSet::range(0, 0));
    EXPECT_EQ(ranks[1].cpus, CpuSet::range(1, 1)) << "none near GPU 1 is usable";
}

TEST(AssignNode, DevicesThatTheLauncherChoseByPosition) {
    const auto machine = two_small_sockets();
    const auto visible = topology::visible_gpus(machine, std::nullopt);
    const auto ranks = assign_node(machine, machine.allowed, visible, {{}, {1}, {0, 1}});
    ASSERT_EQ(ranks.size(), 3U);
    EXPECT_THAT(ranks[0].devices, testing::IsEmpty());
    EXPECT_THAT(ranks[1].devices, ElementsAre(1));
    EXPECT_TRUE(ranks[1].cpus.is_subset_of(CpuSet::range(2, 3))) << ranks[1].cpus.to_string();
    EXPECT_THAT(ranks[2].devices, ElementsAre(0, 1));
    EXPECT_THAT([&] { assign_node(machine, machine.allowed, visible, {{2}}); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("GPU number 2"), HasSubstr("here are 2"))));
}

TEST(SelectedGpus, AllOrThoseAtThePositions) {
    const auto visible = std::vector<topology::VisibleGpu>{{.id = "4"}, {.id = "7"}, {.id = "1"}};
    EXPECT_EQ(selected_gpus(visible, "all"), visible);
    const auto two = selected_gpus(visible, "2,0");
    ASSERT_EQ(two.size(), 2U);
    EXPECT_EQ(two[0].id, "1");
    EXPECT_EQ(two[1].id, "4");
    for (const char* wrong : {"3", "-1", "x", ""})
        EXPECT_THROW(selected_gpus(visible, wrong), UsageError) << wrong;
}

TEST(UsableCpus, ThoseThatTheRanksWereGiven) {
    const auto machine = two_small_sockets();
    EXPECT_EQ(usable_cpus(machine, CpuSet::range(1, 2)), CpuSet::range(1, 2));
    EXPECT_EQ(usable_cpus(machine, CpuSet::range(3, 9)), CpuSet::range(3, 3));
    EXPECT_EQ(usable_cpus(machine, CpuSet::range(0, 3)), machine.allowed);
    EXPECT_EQ(usable_cpus(machine, CpuSet::range(8, 9)), machine.allowed) << "never none";
    EXPECT_EQ(usable_cpus(machine, CpuSet()), machine.allowed) << "the launcher's mask cannot be read";
}

TEST(UsableCpus, AllOfAMachineThatIsNotThisOne) {
    auto machine = two_small_sockets();
    machine.is_this_system = false;
    EXPECT_EQ(usable_cpus(machine, CpuSet::range(0, 0)), machine.allowed);
}

TEST(UnplannedEndpoints, OfOneNode) {
    const Identity identity{.rank = 1, .size = 2, .local_rank = 1, .local_size = 2, .job_id = "job.1"};
    const auto endpoints = unplanned_endpoints(identity, 6170);
    EXPECT_THAT(endpoints.trainers, ElementsAre("127.0.0.1:6170", "127.0.0.1:6171"));
    EXPECT_EQ(endpoints.paddle_master, "127.0.0.1:6172");
    EXPECT_EQ(endpoints.master_addr, "127.0.0.1");
    EXPECT_EQ(endpoints.master_port, 6173);
}

TEST(UnplannedEndpoints, PortsComeFromTheJobsNameAndAreTheSameForAllRanks) {
    Identity identity{.size = 2, .local_size = 2, .job_id = "job.1"};
    const auto first = unplanned_endpoints(identity, std::nullopt);
    identity.rank = identity.local_rank = 1;
    EXPECT_EQ(unplanned_endpoints(identity, std::nullopt), first);
    EXPECT_EQ(first, unplanned_endpoints(identity, cluster::base_port("job.1", 4)));
    identity.job_id = "job.2";
    EXPECT_NE(unplanned_endpoints(identity, std::nullopt), first);
}

TEST(UnplannedEndpoints, OfSeveralNodes) {
    const Identity identity{.launcher = Launcher::slurm,
                            .size = 3,
                            .local_size = 2,
                            .nodes = 2,
                            .job_id = "7.0",
                            .hosts = {"n1", "n2"},
                            .ranks_of_node = {2, 1}};
    const auto endpoints = unplanned_endpoints(identity, 6170);
    EXPECT_THAT(endpoints.trainers, ElementsAre("n1:6170", "n1:6171", "n2:6170"));
    EXPECT_EQ(endpoints.paddle_master, "n1:6172");
    EXPECT_EQ(endpoints.master_addr, "n1");
    EXPECT_EQ(endpoints.master_port, 6173);
}

TEST(UnplannedEndpoints, NodesThatNobodyNamesAreAUsageError) {
    const Identity nameless{
        .launcher = Launcher::open_mpi, .size = 4, .local_size = 2, .nodes = 2, .job_id = "j"};
    auto half_named = nameless;
    half_named.hosts = {"n1"};
    half_named.ranks_of_node = {2, 2};
    auto uncounted = nameless;
    uncounted.hosts = {"n1", "n2"};
    for (const auto& identity : {nameless, half_named, uncounted})
        EXPECT_THAT([&] { unplanned_endpoints(identity, 6170); },
                    ThrowsMessage<UsageError>(
                        AllOf(HasSubstr("4 ranks"), HasSubstr("Open MPI"), HasSubstr("DTRAIN_HOSTS="))));
}

TEST(PlannedEndpoints, AreThoseOfTheLauncher) {
    EXPECT_EQ(planned_endpoints({}), std::nullopt);
    EXPECT_EQ(planned_endpoints({{"DTRAIN_MASTER", "n1:7"}}), std::nullopt);
    EXPECT_EQ(planned_endpoints({{"DTRAIN_ENDPOINTS", "n1:6170,n2:6170"},
                                 {"DTRAIN_MASTER", "n1:6171"},
                                 {"DTRAIN_TORCH_MASTER", "n1:6172"}}),
              (cluster::Endpoints{.trainers = {"n1:6170", "n2:6170"},
                                  .paddle_master = "n1:6171",
                                  .master_addr = "n1",
                                  .master_port = 6172}));
}

TEST(PlannedEndpoints, AnAddressWithoutPortIsQuoted) {
    for (const char* address : {"", "n1", "n1:", "n1:http"})
        EXPECT_THAT(
            [&] {
                planned_endpoints({{"DTRAIN_ENDPOINTS", "n1:6170"}, {"DTRAIN_TORCH_MASTER", address}});
            },
            ThrowsMessage<UsageError>(HasSubstr("\"" + std::string(address) + "\" is no address")));
}

TEST(PortsOfRank, ItsOwnAndOnRankZeroTheMasters) {
    const cluster::Endpoints endpoints{.trainers = {"n1:6170", "[fe80::1]:6171"},
                                       .paddle_master = "n1:6180",
                                       .master_addr = "n1",
                                       .master_port = 6190};
    EXPECT_THAT(ports_of_rank({.rank = 0, .size = 2}, endpoints, std::nullopt),
                ElementsAre(6170, 6180, 6190));
    EXPECT_THAT(ports_of_rank({.rank = 1, .size = 2}, endpoints, std::nullopt), ElementsAre(6171));
}

TEST(PortsOfRank, AnAddressWithoutPortIsQuoted) {
    EXPECT_THAT(
        [] {
            ports_of_rank({.rank = 1, .size = 2}, {.trainers = {"n1:6170", "n2"}}, std::nullopt);
        },
        ThrowsMessage<UsageError>(HasSubstr("\"n2\"")));
}

/// Two servers, a worker, a heterogeneous worker.
cluster::ServerJob small_server_job() {
    return {.servers = {"n1:6170", "n2:6171"},
            .workers = {"n2:6172"},
            .stages = {{.device = "gpu", .endpoints = {"n2:6173"}}},
            .gloo_endpoint = "n1:6174"};
}

TEST(PortsOfRank, OfServersAndWorkers) {
    const cluster::Endpoints endpoints{
        .trainers = {"n2:6172"}, .paddle_master = "n1:6175", .master_addr = "n1", .master_port = 6176};
    const auto job = small_server_job();
    EXPECT_THAT(ports_of_rank({.rank = 0, .size = 4}, endpoints, job), ElementsAre(6170, 6174, 6175, 6176))
        << "the first server has Gloo's and the masters'";
    EXPECT_THAT(ports_of_rank({.rank = 1, .size = 4}, endpoints, job), ElementsAre(6171));
    EXPECT_THAT(ports_of_rank({.rank = 2, .size = 4}, endpoints, job), ElementsAre(6172));
    EXPECT_THAT(ports_of_rank({.rank = 3, .size = 4}, endpoints, job), ElementsAre(6173));
}

TEST(PlannedServerJob, IsThatOfTheLauncher) {
    Environment environment;
    EXPECT_EQ(planned_server_job(environment, {.rank = 0, .size = 4}, ""), std::nullopt);
    cluster::write_server_job(environment, small_server_job());
    EXPECT_EQ(planned_server_job(environment, {.rank = 3, .size = 4}, ""), small_server_job());
    const std::vector<std::string> roles{"server", "server", "worker", "heter_worker"};
    for (int rank = 0; rank < 4; ++rank)
        EXPECT_EQ(
            planned_server_job(environment, {.rank = rank, .size = 4}, roles[static_cast<std::size_t>(rank)]),
            small_server_job());
}

TEST(PlannedServerJob, ARoleThatIsNotThePlansIsRefused) {
    Environment environment;
    EXPECT_THAT([&] { planned_server_job(environment, {.rank = 0, .size = 1}, "server"); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("--role server"), HasSubstr("--server_num"))));
    cluster::write_server_job(environment, small_server_job());
    EXPECT_THAT([&] { planned_server_job(environment, {.rank = 2, .size = 4}, "server"); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("--role server"), HasSubstr("rank 2 as worker"))));
    EXPECT_THAT([&] { planned_server_job(environment, {.rank = 4, .size = 5}, ""); },
                ThrowsMessage<UsageError>(HasSubstr("rank 4")));
}

TEST(PlannedEndpoints, OfAJobWithServersAreItsWorkers) {
    Environment environment{{"DTRAIN_MASTER", "n1:6175"}, {"DTRAIN_TORCH_MASTER", "n1:6176"}};
    cluster::write_server_job(environment, small_server_job());
    EXPECT_EQ(
        planned_endpoints(environment),
        (cluster::Endpoints{
            .trainers = {"n2:6172"}, .paddle_master = "n1:6175", .master_addr = "n1", .master_port = 6176}));
}

TEST(DeviceView, OfACollectiveRankIsTheWholeList) {
    EXPECT_EQ(view_of("4,6", {1}, false), (DeviceView{.cuda_visible_devices = "4,6", .positions = {1}}));
    EXPECT_EQ(view_of("4,6", {}, false), (DeviceView{.cuda_visible_devices = "4,6"}));
    EXPECT_EQ(view_of("", {1}, false), (DeviceView{.positions = {1}})) << "CUDA_VISIBLE_DEVICES stays";
}

TEST(DeviceView, OfAServerJobsRankIsItsOwnDevices) {
    EXPECT_EQ(view_of("4,6,GPU-8", {2}, true),
              (DeviceView{.cuda_visible_devices = "GPU-8", .positions = {0}}));
    EXPECT_EQ(view_of("4,6,GPU-8", {2, 0}, true),
              (DeviceView{.cuda_visible_devices = "GPU-8,4", .positions = {0, 1}}));
    EXPECT_EQ(view_of("4,6", {}, true), DeviceView{}) << "none";
    EXPECT_EQ(view_of("", {1}, true), (DeviceView{.positions = {1}}))
        << "--visible keep: positions as they are";
}

TEST(PodName, SixLettersThatAllRanksOfTheNodeAgreeOn) {
    Identity identity{.rank = 2, .size = 4, .local_rank = 0, .local_size = 2, .node_rank = 1, .nodes = 2};
    identity.job_id = "night.01234567";
    const auto name = pod_name(identity);
    EXPECT_THAT(name, MatchesRegex("[a-z][a-z][a-z][a-z][a-z][a-z]"));
    identity.rank = 3;
    identity.local_rank = 1;
    EXPECT_EQ(pod_name(identity), name);
}

TEST(PodName, DiffersBetweenNodesOfAJob) {
    std::set<std::string> names;
    for (int node = 0; node < 16; ++node)
        names.insert(pod_name({.node_rank = node, .nodes = 16, .job_id = "night.01234567"}));
    EXPECT_EQ(names.size(), 16U);
}

}  // namespace
}  // namespace dtrain::worker
