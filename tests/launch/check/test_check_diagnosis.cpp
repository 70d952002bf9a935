// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: nodes described by hand, each with one thing that an administrator would call wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/check/check_diagnosis.hpp"
#include "launch/check/check_text.hpp"

namespace dtrain::launch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

NodeInfo healthy(int number) {
    return {.port = 4000 + number,
            .host_name = "node" + std::to_string(number),
            .dtrain = "0.1.0",
            .mpi = "Open MPI 4.1.4",
            .mpirun = "Open MPI 4.1",
            .nccl = "2.28.9",
            .cuda_runtime = "13.0",
            .cuda_driver = "13.0",
            .gpus = 8,
            .gpu_models = "NVIDIA H200",
            .shm_bytes = 64 * gib,
            .shm_free = 60 * gib,
            .open_files = 1048576};
}

std::vector<CheckedNode> healthy_nodes(int count) {
    std::vector<CheckedNode> nodes;
    for (int node = 0; node < count; ++node) {
        nodes.push_back({.host = "10.0.0." + std::to_string(node + 1),
                         .way = node == 0 ? "here" : "ssh",
                         .log_dir = "/home/a/log",
                         .working_dir = "/home/a"});
        nodes.back().info = healthy(node);
        for (int other = 0; other < count; ++other)
            if (other != node) nodes.back().probes.push_back({.to = other, .round_trip_us = 120});
    }
    return nodes;
}

CheckWants job() {
    return {.ranks_of_node = 8};
}

/// The only finding about three nodes of which the last one was changed.
template <class Change>
Finding about_last(const Change& change, const CheckWants& wants = job()) {
    auto nodes = healthy_nodes(3);
    change(*nodes.back().info);
    const auto findings = diagnose(nodes, wants);
    EXPECT_EQ(findings.size(), 1U);
    if (findings.size() != 1) return {};
    EXPECT_EQ(findings.front().nodes, CpuSet::parse("2"));
    EXPECT_THAT(findings.front().remedy, Not(IsEmpty()));
    return findings.front();
}

CheckedNode silent(const std::string& host) {
    return {.host = host, .way = "ssh", .issue = Issue{.text = "Connection refused", .remedy = "start sshd"}};
}

TEST(CheckDiagnosis, NamesTheFoldersOfTheNodeItself) {
    auto nodes = healthy_nodes(2);
    nodes[1].log_dir = "/scratch/log";
    nodes[1].working_dir = "/home/b";
    nodes[1].info->log_dir_error = "Read-only file system";
    nodes[1].info->working_dir_error = "Permission denied";
    const auto findings = diagnose(nodes, job());
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].text, "logs cannot be written into /scratch/log: Read-only file system");
    EXPECT_EQ(findings[1].text, "the folder /home/b of this command: Permission denied");
}

TEST(CheckDiagnosis, FindsNothingWrongWithHealthyNodes) {
    EXPECT_THAT(diagnose(healthy_nodes(3), job()), IsEmpty());
    EXPECT_THAT(diagnose(healthy_nodes(1), job()), IsEmpty());
    EXPECT_THAT(diagnose({}, job()), IsEmpty());
}

TEST(CheckDiagnosis, NodesThatDoNotAnswerHaveTheirReason) {
    auto nodes = healthy_nodes(2);
    nodes.push_back(silent("10.0.0.3"));
    EXPECT_THAT(diagnose(nodes, job()),
                ElementsAre(Finding{
                    .nodes = CpuSet::parse("2"), .text = "Connection refused", .remedy = "start sshd"}));
}

TEST(CheckDiagnosis, WhatMustBeAlikeIsWhatMostNodesHave) {
    EXPECT_EQ(about_last([](NodeInfo& info) { info.dtrain = "0.0.9"; }).text,
              "dtrain: 0.0.9, but 0.1.0 on 2 of 3 nodes");
    EXPECT_EQ(about_last([](NodeInfo& info) { info.mpi = "Open MPI 5.0.3"; }).text,
              "MPI: Open MPI 5.0.3, but Open MPI 4.1.4 on 2 of 3 nodes");
    EXPECT_EQ(about_last([](NodeInfo& info) { info.mpirun = "Open MPI 5.0"; }).text,
              "mpirun in PATH: Open MPI 5.0, but Open MPI 4.1 on 2 of 3 nodes");
    EXPECT_EQ(about_last([](NodeInfo& info) { info.nccl = ""; }).text,
              "NCCL: none, but 2.28.9 on 2 of 3 nodes");
    EXPECT_EQ(about_last([](NodeInfo& info) { info.gpus = 7; }).text, "GPUs: 7, but 8 on 2 of 3 nodes");
    const auto model = about_last([](NodeInfo& info) { info.gpu_models = "NVIDIA H100"; });
    EXPECT_EQ(model.severity, Severity::warning);
}

TEST(CheckDiagnosis, OfTwoDifferentNodesTheFirstIsTakenForRight) {
    auto nodes = healthy_nodes(2);
    nodes[0].info->gpus = 4;
    const auto findings = diagnose(nodes, job());
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].nodes, CpuSet::parse("1"));
    EXPECT_EQ(findings[0].text, "GPUs: 8, but 4 on 1 of 2 nodes");
}

TEST(CheckDiagnosis, AWorkerThatDoesNotRunIsOneFault) {
    const auto finding = about_last([](NodeInfo& info) {
        info.worker_error = "libmpi.so.40: cannot open shared object file";
        info.mpi = info.nccl = info.gpu_models = "";
        info.gpus = 0;
    });
    EXPECT_THAT(finding.text, HasSubstr("libmpi.so.40"));
}

TEST(CheckDiagnosis, LimitsThatAreTooLow) {
    EXPECT_EQ(about_last([](NodeInfo& info) { info.shm_bytes = info.shm_free = gib / 16; }).text,
              "/dev/shm has only 64 MiB");
    EXPECT_EQ(about_last([](NodeInfo& info) { info.shm_bytes = info.shm_free = 0; }).text,
              "there is no /dev/shm");
    EXPECT_EQ(about_last([](NodeInfo& info) { info.shm_free = gib / 1024; }).text,
              "/dev/shm is full: 1 MiB of 64 GiB are free");
    EXPECT_EQ(about_last([](NodeInfo& info) { info.shm_bytes = info.shm_free = gib / 2; }).severity,
              Severity::warning);
    EXPECT_EQ(about_last([](NodeInfo& info) { info.open_files = 1023; }).text,
              "a process may have 1023 files open; 24 ranks want 1024");
    auto large = job();
    large.ranks_of_node = 1000;
    EXPECT_THAT(about_last([](NodeInfo& info) { info.open_files = 1024; }, large).text,
                HasSubstr("3000 ranks want 6256"));
}

TEST(CheckDiagnosis, LockedMemoryMattersForRdma) {
    auto nodes = healthy_nodes(2);
    nodes[1].info->memlock = 8 << 20;
    EXPECT_THAT(diagnose(nodes, job()), IsEmpty());
    EXPECT_EQ(about_last([](NodeInfo& info) {
                  info.memlock = 8 << 20;
                  info.rdma = true;
              }).text,
              "memlock is 8 MiB, but RDMA wants to lock what it sends");
}

TEST(CheckDiagnosis, FoldersAndPrograms) {
    EXPECT_EQ(about_last([](NodeInfo& info) { info.log_dir_error = "Read-only file system"; }).text,
              "logs cannot be written into /home/a/log: Read-only file system");
    EXPECT_THAT(about_last([](NodeInfo& info) { info.working_dir_error = "No such file or directory"; }).text,
                HasSubstr("/home/a"));
    EXPECT_THAT(about_last([](NodeInfo& info) { info.gpu_error = "GPU-1 is ambiguous"; }).text,
                HasSubstr("CUDA_VISIBLE_DEVICES"));
    EXPECT_THAT(about_last([](NodeInfo& info) { info.mpirun = ""; }).text, HasSubstr("no mpirun"));
    auto nodes = healthy_nodes(2);
    nodes[1].info->mpirun = "";
    auto by_srun = job();
    by_srun.mpirun = false;
    EXPECT_THAT(diagnose(nodes, by_srun), IsEmpty()) << "srun needs none";
}

TEST(CheckDiagnosis, GpusThatAreIllAndDriversThatAreTooOld) {
    const auto broken = about_last([](NodeInfo& info) {
        info.gpu_issues = {
            {.gpu = 3, .is_fault = true, .text = "2 errors of its memory", .remedy = "reset it"}};
    });
    EXPECT_EQ(broken.text, "GPU 3: 2 errors of its memory");
    EXPECT_EQ(broken.remedy, "reset it");
    EXPECT_EQ(broken.severity, Severity::fault);
    const auto slow = about_last([](NodeInfo& info) {
        info.gpu_issues = {{.gpu = 0, .text = "slowed down by its heat", .remedy = "look after fans"}};
    });
    EXPECT_EQ(slow.severity, Severity::warning);
    EXPECT_EQ(about_last([](NodeInfo& info) { info.cuda_driver = "12.4"; }).text,
              "its GPU driver supports CUDA 12.4, but dtrain was built with 13.0");
    EXPECT_EQ(
        about_last([](NodeInfo& info) {
            info.gpu_issues = {{.pci = "0000:5f:00.0", .is_fault = true, .text = "ill", .remedy = "reset"}};
        }).text,
        "GPU 0000:5f:00.0: ill");
    const auto old_nccl = [](NodeInfo& info) { info.nccl_needed = "2.29.0"; };
    EXPECT_THAT(about_last(old_nccl).text, HasSubstr("NCCL 2.28.9 is loaded"));
    EXPECT_EQ(about_last([](NodeInfo& info) { info.nccl_cuda = "12.4"; }).severity, Severity::warning);
    EXPECT_THAT(about_last([](NodeInfo& info) { info.nccl = "2.28.3"; }).remedy, HasSubstr("refuses"));
    auto nodes = healthy_nodes(2);
    nodes[0].info->cuda_driver = "13.2";  // newer ones run it
    nodes[1].info->cuda_driver = "";      // no driver to compare
    EXPECT_THAT(diagnose(nodes, job()), IsEmpty());
}

TEST(CheckDiagnosis, ConnectionsAreToldByTheirDirection) {
    auto nodes = healthy_nodes(3);
    nodes[0].probes[1].error = "Connection timed out";
    auto findings = diagnose(nodes, job());
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].nodes, CpuSet::parse("0"));
    EXPECT_EQ(findings[0].text,
              "cannot connect to node 2 (10.0.0.3): Connection timed out (the other direction works)");
    nodes[1].probes[1].error = "Connection timed out";
    findings = diagnose(nodes, job());
    ASSERT_EQ(findings.size(), 1U) << "the same about two nodes is told once";
    EXPECT_EQ(findings[0].nodes, CpuSet::parse("0-1"));
    nodes[2].probes[0].error = "No route to host";
    findings = diagnose(nodes, job());
    ASSERT_EQ(findings.size(), 3U);
    EXPECT_EQ(findings[0].text, "cannot connect to node 2 (10.0.0.3): Connection timed out");
    EXPECT_EQ(findings[2].text, "cannot connect to node 0 (10.0.0.1): No route to host");
}

TEST(CheckDiagnosis, TheClockThatIsFarFromTheMedianIsWrong) {
    auto nodes = healthy_nodes(3);
    // Node 0 is 90 s behind both others.
    nodes[0].probes[0].other_ahead_us = 90'000'000;
    nodes[0].probes[1].other_ahead_us = 90'000'200;
    EXPECT_THAT(clocks_ahead(nodes), ElementsAre(Optional(-90'000'000), Optional(0), Optional(200)));
    const auto findings = diagnose(nodes, job());
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].nodes, CpuSet::parse("0"));
    EXPECT_EQ(findings[0].text, "its clock is 90 s slow");
    EXPECT_EQ(findings[0].severity, Severity::fault);
}

TEST(CheckDiagnosis, ASmallDifferenceOfClocksIsAWarning) {
    auto nodes = healthy_nodes(2);
    nodes[0].probes[0].other_ahead_us = 99'000;
    EXPECT_THAT(diagnose(nodes, job()), IsEmpty());
    nodes[0].probes[0].other_ahead_us = 450'000;
    const auto findings = diagnose(nodes, job());
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].severity, Severity::warning);
    EXPECT_EQ(findings[0].text, "its clock is 0.4 s fast");
}

TEST(CheckDiagnosis, AClockIsKnownFromEitherDirection) {
    auto nodes = healthy_nodes(2);
    nodes[0].probes[0].error = "Connection timed out";
    nodes[1].probes[0].other_ahead_us = 5'000'000;  // node 0, as node 1 sees it
    EXPECT_THAT(clocks_ahead(nodes), ElementsAre(Optional(0), Optional(-5'000'000)));
    nodes[1].probes[0].error = "Connection timed out";
    EXPECT_THAT(clocks_ahead(nodes), ElementsAre(std::nullopt, std::nullopt));
}

TEST(CheckDiagnosis, FaultsComeBeforeWarnings) {
    auto nodes = healthy_nodes(3);
    nodes[0].info->shm_bytes = gib / 2;
    nodes[1].info->open_files = 10;
    const auto findings = diagnose(nodes, job());
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].severity, Severity::fault);
    EXPECT_EQ(findings[1].severity, Severity::warning);
}

TEST(CheckIssue, NamesTheRemedyForWhatSshSays) {
    const auto remedy = [](const std::string& output) {
        return issue_of("ssh", "b", "/opt/dtrain-check", 255, output).remedy;
    };
    EXPECT_THAT(remedy("root@b: Permission denied (publickey)."), HasSubstr("ssh-copy-id b"));
    EXPECT_THAT(remedy("Host key verification failed."), HasSubstr("ssh b true"));
    EXPECT_THAT(remedy("ssh: connect to host b port 22: Connection refused"), HasSubstr("sshd"));
    EXPECT_THAT(remedy("ssh: Could not resolve hostname b: Name or service not known"),
                HasSubstr("/etc/hosts"));
    EXPECT_THAT(remedy("ssh: connect to host b port 22: Connection timed out"), HasSubstr("is it on"));
    const auto missing = issue_of("ssh", "b", "/opt/dtrain-check", 127,
                                  "bash: line 1: /opt/dtrain-check: No such file or directory");
    EXPECT_THAT(missing.text, HasSubstr("/opt/dtrain-check does not run there"));
    EXPECT_THAT(missing.remedy, HasSubstr("install"));
    EXPECT_THAT(issue_of("ssh", "b", "/opt/dtrain-check", {}, "").text, HasSubstr("no answer through ssh"));
    EXPECT_THAT(issue_of("srun", "b", "/opt/dtrain-check", 1, "srun: error: x").remedy,
                HasSubstr("scontrol show node b"));
}

TEST(CheckText, HasARowForEachNodeThenFindingsThenTheSum) {
    auto nodes = healthy_nodes(2);
    nodes.push_back(silent("10.0.0.3"));
    const auto text = check_text(nodes, diagnose(nodes, job()));
    EXPECT_THAT(text,
                AllOf(HasSubstr("\n0     10.0.0.1  node0  here "), HasSubstr("\n1     10.0.0.2  node1  ssh "),
                      HasSubstr("\n2     10.0.0.3  -      ssh: no "),
                      HasSubstr("\nfault: node 2 (10.0.0.3): Connection refused\n    remedy: start sshd\n"),
                      HasSubstr("\n3 nodes checked: 1 fault\n")));
    EXPECT_THAT(check_text(healthy_nodes(2), {}), HasSubstr("\n2 nodes checked: no fault\n"));
}

TEST(CheckText, NodesWithTheSameFaultStandTogether) {
    auto nodes = healthy_nodes(5);
    for (const std::size_t node : {1, 2, 4}) nodes[node].info->open_files = 256;
    EXPECT_THAT(check_text(nodes, diagnose(nodes, job())),
                HasSubstr("fault: nodes 1-2,4: a process may have 256"));
}

}  // namespace
}  // namespace dtrain::launch
