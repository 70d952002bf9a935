// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what launchers of one job must have in common, written by hand; assignments that went through a
// message are those of the plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/rendezvous/join_request.hpp"

namespace dtrain::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RankPlan rank_with(int rank, int local, const std::string& gpu, const std::string& cpus) {
    RankPlan out{.rank = rank, .local_rank = local, .gpus = {gpu}};
    out.assignment = {.cpus = CpuSet::parse(cpus), .numa_nodes = {0}, .devices = {local}, .threads = 2};
    return out;
}

/// Two nodes with two ranks each, as seen from one of them.
Plan two_nodes(int own) {
    return {.job_id = "night",
            .nodes = {{.host = "10.0.0.1",
                       .cuda_visible_devices = "0,1",
                       .ranks = {rank_with(0, 0, "0", "0-1"), rank_with(1, 1, "1", "2-3")}},
                      {.host = "10.0.0.2",
                       .cuda_visible_devices = "0,1",
                       .ranks = {rank_with(2, 0, "0", "0-1"), rank_with(3, 1, "1", "2-3")}}},
            .own_node = own,
            .program = {"python3", "-u", "train.py", "--data", "/mnt/a"},
            .log_dir = "/scratch/log",
            .working_dir = "/home/a"};
}

transport::JoinRequest join_request_of_second() {
    return join_request_of(two_nodes(1), Options{}, "b", 0);
}

std::string reason(const transport::Admission& admission) {
    const auto* refused = std::get_if<transport::Refused>(&admission);
    return refused == nullptr ? "" : refused->reason;
}

TEST(JoinRequest, SaysWhatAnAgentIsAndHas) {
    const auto request = join_request_of_second();
    EXPECT_EQ(request.host_name, "b");
    EXPECT_EQ(request.address, "10.0.0.2");
    EXPECT_THAT(request.nodes, ElementsAre("10.0.0.1", "10.0.0.2"));
    EXPECT_THAT(request.ranks, ElementsAre(ElementsAre("0"), ElementsAre("1")));
    EXPECT_EQ(request.visible_gpus, "0,1");
    EXPECT_EQ(request.assignments.at("DTRAIN_CPUS"), "0-1;2-3");
    EXPECT_EQ(request.log_dir, "/scratch/log");
    EXPECT_EQ(request.run_mode, "collective");
    EXPECT_THAT(request.program, ElementsAre("python3", "-u", "train.py", "--data", "/mnt/a"));
    EXPECT_EQ(request.working_dir, "/home/a");
}

TEST(JoinRequest, AtAMasterNoNodesAreNamed) {
    const auto request = join_request_of(two_nodes(0), {.host = "10.0.0.9", .rank = 2}, "b", 3);
    EXPECT_THAT(request.nodes, ElementsAre());
    EXPECT_EQ(request.node_count, 3);
    EXPECT_EQ(request.address, "10.0.0.9");
    EXPECT_EQ(request.wanted_node, 2);
    EXPECT_EQ(join_request_of(two_nodes(0), {.rank = -1}, "b", 3).wanted_node, std::nullopt);
}

TEST(Admit, AgentsOfTheSameJobHaveTheirPlaces) {
    EXPECT_EQ(admit_named(join_request_of_second(), two_nodes(0)), transport::Admission(1));
}

TEST(Admit, WhatDiffersIsNamed) {
    const auto plan = two_nodes(0);
    auto request = join_request_of_second();
    request.nodes.emplace_back("10.0.0.3");
    EXPECT_EQ(reason(admit_named(request, plan)),
              "it was started for the nodes 10.0.0.1,10.0.0.2,10.0.0.3, node 0 for 10.0.0.1,10.0.0.2; give "
              "all nodes the "
              "same list");
    request = join_request_of_second();
    request.nodes = {"10.0.0.2", "10.0.0.1"};
    EXPECT_THAT(reason(admit_named(request, plan)), HasSubstr("the same list"));
    request = join_request_of_second();
    request.address = "";
    EXPECT_THAT(reason(admit_named(request, plan)), HasSubstr("--host"));
    auto elsewhere = plan;
    elsewhere.own_node.reset();
    EXPECT_EQ(reason(admit_named(join_request_of(elsewhere, {}, "c", 0), plan)),
              "its own address is none of the nodes 10.0.0.1,10.0.0.2; name it with --host");
    request = join_request_of_second();
    request.address = "10.0.0.1";
    EXPECT_THAT(reason(admit_named(request, plan)), HasSubstr("takes itself for node 0"));
    request = join_request_of_second();
    request.ranks.pop_back();
    EXPECT_THAT(reason(admit_named(request, plan)),
                HasSubstr("it has 1 rank, and 2 ranks would be its part"));
    request = join_request_of_second();
    request.ranks = {{"0", "1"}, {"2", "3"}};
    EXPECT_THAT(reason(admit_named(request, plan)), HasSubstr("it has 4 GPUs for its ranks, node 0 has 2"));
    request = join_request_of_second();
    request.version = "0.0.9";
    EXPECT_THAT(reason(admit_named(request, plan)), HasSubstr("it has dtrain 0.0.9"));
}

TEST(Admit, OneThatCannotTakePartSaysWhyInOneLine) {
    auto request = join_request_of_second();
    request.unable = "training script \"none.py\" not found\x1b[2J";
    const std::string why = R"(training script "none.py" not found\x1b[2J)";
    EXPECT_EQ(reason(admit_named(request, two_nodes(0))), why);
    request.nodes.clear();
    request.node_count = 2;
    EXPECT_EQ(reason(admit_at_master(request, 2, RunMode::collective, {})), why);
}

TEST(Admit, ModesAndServersHaveToAgree) {
    const auto plan = two_nodes(0);
    auto request = join_request_of_second();
    request.run_mode = "rpc";
    const std::string mode = "its --run_mode is rpc, node 0's collective; give all nodes the same";
    EXPECT_EQ(reason(admit_named(request, plan)), mode);
    request.nodes.clear();
    EXPECT_EQ(reason(admit_at_master(request, 2, RunMode::collective, {})), mode);
    request = join_request_of_second();
    request.servers = 1;
    EXPECT_EQ(reason(admit_named(request, plan)),
              "it has 1 server, and 0 would be its part of node 0's plan; give all nodes the same --servers "
              "and --workers");
}

TEST(Admit, CommandsMayDiffer) {
    auto request = join_request_of_second();
    request.program = {"/opt/b"};
    request.working_dir = "/home/b";
    EXPECT_EQ(admit_named(request, two_nodes(0)), transport::Admission(1));
}

TEST(OwnCommand, IsNamedByWhatDiffersFirst) {
    const auto plan = two_nodes(0);
    auto request = join_request_of_second();
    EXPECT_EQ(own_command(request, plan), std::nullopt);
    request.program[2] = "other.py";
    request.program[4] = "/mnt/b";
    EXPECT_EQ(own_command(request, plan), R"(with "other.py" in place of node 0's "train.py")");
    request = join_request_of_second();
    request.program.pop_back();
    EXPECT_EQ(own_command(request, plan), R"(without node 0's "/mnt/a")");
    request.program = plan.program;
    request.program.emplace_back("more");
    request.working_dir = "/home/b";
    EXPECT_EQ(own_command(request, plan),
              R"(with "more", which node 0 has not, in "/home/b", node 0 in "/home/a")");
    request.program = plan.program;
    EXPECT_EQ(own_command(request, plan), R"(in "/home/b", node 0 in "/home/a")");
}

TEST(OwnCommand, HidesSecrets) {
    auto plan = two_nodes(0);
    plan.program = {"a.sh", "--api_key=mine", "--token", "too"};
    auto request = join_request_of(plan, {}, "b", 0);
    request.program[1] = "--api_key=other";
    EXPECT_EQ(own_command(request, plan), R"(with "--api_key=***" in place of node 0's "--api_key=***")");
    request.program = plan.program;
    request.program[3] = "other";
    EXPECT_EQ(own_command(request, plan), R"(with "***" in place of node 0's "***")");
}

TEST(OwnCommand, OfManyNodesIsOneLine) {
    const auto plan = two_nodes(0);
    auto request = join_request_of_second();
    EXPECT_EQ(own_commands({{1, request}}, plan), std::nullopt);
    request.program.back() = "/mnt/b";
    const std::string line =
        R"(node 1 (10.0.0.2) runs its own command, with "/mnt/b" in place of node 0's "/mnt/a")";
    EXPECT_EQ(own_commands({{1, request}}, plan), line);
    EXPECT_EQ(own_commands({{1, request}, {2, request}}, plan), line + "; 1 more does likewise");
    EXPECT_EQ(own_commands({{1, request}, {2, request}, {3, request}}, plan), line + "; 2 more do likewise");
}

TEST(Admit, AListInAnotherOrderIsNamedAsThat) {
    auto plan = two_nodes(0);
    plan.job_id = "mine";
    auto request = join_request_of_second();
    std::swap(request.nodes[0], request.nodes[1]);
    const std::string order =
        "its nodes stand in the order 10.0.0.2,10.0.0.1, node 0's in the order 10.0.0.1,10.0.0.2; give all "
        "nodes "
        "the same list, in the same order";
    EXPECT_EQ(reason(admit_named(request, plan)), order);
    request.leads = true;
    request.job_id = "mine";
    EXPECT_EQ(reason(admit_named(request, plan)), order);
}

TEST(Admit, AnotherJobThatAsksIsNoMistakeOfAnybody) {
    auto plan = two_nodes(0);
    plan.job_id = "mine";
    auto request = join_request_of_second();
    request.leads = true;
    request.job_id = "other";
    const auto is_another = [](const transport::Admission& admission) {
        return std::get<transport::Refused>(admission).of_another_job;
    };
    EXPECT_TRUE(is_another(admit_named(request, plan)));
    EXPECT_TRUE(is_another(admit_at_master(request, 2, RunMode::collective, {})));
    request.job_id = "mine";
    std::swap(request.nodes[0], request.nodes[1]);
    EXPECT_FALSE(is_another(admit_named(request, plan)));
    request.version = "0.0.9";
    request.nodes = {"10.0.0.7", "10.0.0.8"};
    EXPECT_TRUE(is_another(admit_named(request, plan)));
}

/// A node's part of a parameter-server job: a server and a worker.
Plan server_and_worker() {
    auto plan = two_nodes(0);
    plan.nodes.pop_back();
    plan.mode = RunMode::parameter_server;
    plan.servers = cluster::ServerJob{
        .servers = {"127.0.0.1:1"}, .workers = {"127.0.0.1:2"}, .gloo_endpoint = "127.0.0.1:3"};
    plan.nodes[0].ranks[0].role = cluster::Role::server;
    plan.nodes[0].ranks[1].role = cluster::Role::worker;
    return plan;
}

TEST(Admit, AtAMasterJobsWithAndWithoutServersDoNotMix) {
    EXPECT_EQ(join_request_of(two_nodes(0), {}, "b", 2).servers, std::nullopt);
    auto request = join_request_of(server_and_worker(), {}, "b", 2);
    EXPECT_EQ(request.servers, 1);
    EXPECT_EQ(admit_at_master(request, 2, RunMode::parameter_server, {}), transport::Admission(1));
    EXPECT_THAT(reason(admit_at_master(request, 2, RunMode::collective, {})),
                AllOf(HasSubstr("has parameter servers, node 0's has none"), HasSubstr("--run_mode")));
    EXPECT_THAT(
        reason(admit_at_master(join_request_of(two_nodes(0), {}, "b", 2), 2, RunMode::parameter_server, {})),
        HasSubstr("has no parameter servers, node 0's has some"));
    for (const int servers : {-1, 0, 2, 2'000'000'000}) {
        request.servers = servers;
        EXPECT_THAT(reason(admit_at_master(request, 2, RunMode::parameter_server, {})),
                    HasSubstr("cannot be among its 2 ranks"));
    }
}

TEST(Admit, AtAMasterTheLowestFreeNumberIsGiven) {
    const auto request = join_request_of(two_nodes(0), {}, "b", 3);
    EXPECT_EQ(admit_at_master(request, 3, RunMode::collective, {}), transport::Admission(1));
    EXPECT_EQ(admit_at_master(request, 3, RunMode::collective, {{1, std::nullopt}}), transport::Admission(2));
    EXPECT_EQ(admit_at_master(request, 3, RunMode::collective, {{2, std::nullopt}}), transport::Admission(1));
    EXPECT_THAT(
        reason(admit_at_master(request, 3, RunMode::collective, {{1, std::nullopt}, {2, std::nullopt}})),
        HasSubstr("all 3 nodes"));
    EXPECT_THAT(reason(admit_at_master(request, 4, RunMode::collective, {})),
                HasSubstr("--nnodes 3, node 0 with 4"));
    auto option = request;
    option.address = "-Fevil.conf";
    EXPECT_THAT(reason(admit_at_master(option, 3, RunMode::collective, {})),
                HasSubstr("\"-Fevil.conf\" is no address"));
    EXPECT_THAT(reason(admit_at_master(join_request_of_second(), 2, RunMode::collective, {})),
                HasSubstr("--ips 10.0.0.1,10.0.0.2"));
    const auto second = join_request_of(two_nodes(0), {.rank = 2}, "b", 3);
    EXPECT_THAT(reason(admit_at_master(second, 3, RunMode::collective, {{1, 2}})),
                HasSubstr("another node has --rank 2"));
    const auto fourth = join_request_of(two_nodes(0), {.rank = 3}, "b", 3);
    EXPECT_THAT(reason(admit_at_master(fourth, 3, RunMode::collective, {})),
                HasSubstr("--rank 3 is not in 1..2"));
}

TEST(Numbered, WishesFirstThenArrival) {
    const std::nullopt_t none = std::nullopt;
    EXPECT_THAT(numbered({none, none, none}), ElementsAre(0, 1, 2));
    EXPECT_THAT(numbered({none, 2, none}), ElementsAre(0, 2, 1));
    EXPECT_THAT(numbered({none, none, 1, none}), ElementsAre(0, 2, 1, 3));
    EXPECT_THAT(numbered({none}), ElementsAre(0));
}

TEST(Accepted, SaysWhichRanks) {
    EXPECT_EQ(part_text(accepted_of(two_nodes(0), 1)), "node 1 of 2: ranks 2-3");
    EXPECT_EQ(part_text({.node = 2, .nodes = 3, .first_rank = 5, .ranks = 1}), "node 2 of 3: rank 5");
    EXPECT_EQ(part_text({.node = 2, .nodes = 3}), "node 2 of 3: no ranks");
    EXPECT_EQ(part_text({.node = 2, .nodes = 3, .by_ssh = true}),
              "node 2 of 3: no ranks, started over ssh before this launcher came, with node 0's command and "
              "folder");
}

TEST(Accepted, SaysWhichServersAndWorkers) {
    Plan plan;
    plan.servers = cluster::ServerJob{};
    plan.nodes = {{.host = "a"}, {.host = "b"}};
    const auto slot = [&](int rank, cluster::Role role, int index) {
        plan.nodes[1].ranks.push_back({.rank = rank, .role = role, .index = index});
    };
    slot(1, cluster::Role::server, 1);
    EXPECT_EQ(part_text(accepted_of(plan, 1)), "node 1 of 2: server 1");
    slot(4, cluster::Role::worker, 2);
    slot(5, cluster::Role::worker, 3);
    slot(7, cluster::Role::worker, 5);
    slot(9, cluster::Role::heter_worker, 1);
    EXPECT_EQ(part_text(accepted_of(plan, 1)),
              "node 1 of 2: server 1, workers 2-3,5, heterogeneous worker 1");
}

TEST(Info, OfAgentsReplaceWhatWasAssumed) {
    auto of_second = two_nodes(1);
    of_second.log_dir = "/scratch/b";
    of_second.nodes[1].cuda_visible_devices = "4,7";
    of_second.nodes[1].ranks[0].gpus = {"4"};
    of_second.nodes[1].ranks[1].gpus = {"7"};
    of_second.nodes[1].ranks[1].assignment.cpus = CpuSet::parse("16-31");
    const auto plan = with_info(two_nodes(0), {{1, join_request_of(of_second, {}, "b", 0)}});
    EXPECT_EQ(plan.nodes[1].cuda_visible_devices, "4,7");
    EXPECT_EQ(plan.nodes[1].log_dir, "/scratch/b");
    EXPECT_THAT(plan.nodes[1].ranks[1].gpus, ElementsAre("7"));
    EXPECT_EQ(plan.nodes[1].ranks[1].assignment, of_second.nodes[1].ranks[1].assignment);
    EXPECT_EQ(plan.nodes[0].ranks[1].assignment, two_nodes(0).nodes[0].ranks[1].assignment);
}

}  // namespace
}  // namespace dtrain::launch
