// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the command lines that ssh(1), srun(1) and pbs_tmrsh(8B) document; pairs counted by hand; messages
// that went through a line are what was sent; two clocks that differ by what the test says.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/ports.hpp"
#include "launch/check/check_node.hpp"
#include "launch/check/check_plan.hpp"
#include "launch/check/check_probe.hpp"
#include "support/temporary_folder.hpp"
#include "transport/tcp.hpp"

namespace dtrain::launch {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

CheckSite site(const std::string& engine, const std::string& remote_shell = "") {
    return {.plan = {.engine = engine,
                     .nodes = {{.host = "a"}, {.host = "b"}},
                     .own_node = 0,
                     .remote_shell = remote_shell,
                     .gpus_of_node = 2},
            .program = "/opt/my check"};
}

TEST(CheckWay, ALauncherThatIsThereComesBeforeSsh) {
    auto both = site("mpirun");
    EXPECT_EQ(way_to(both, 0), "here");
    EXPECT_EQ(way_to(both, 1), "ssh");
    both.launchers.emplace().is_connected = [](int node) { return node == 1; };
    EXPECT_EQ(way_to(both, 0), "here");
    EXPECT_EQ(way_to(both, 1), "launcher");
    both.launchers->is_connected = [](int) { return false; };
    EXPECT_EQ(way_to(both, 1), "ssh");
}

TEST(CheckCommand, IsWhatTheEngineWouldReachTheNodeWith) {
    const CallBack back{.port = 4711, .nonce = "abc"};
    EXPECT_THAT(check_command(site("mpirun"), 0, "a", back), ElementsAre("/opt/my check"));
    EXPECT_THAT(check_command(site("mpirun"), 1, "a", back),
                ElementsAre("ssh", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "--", "b",
                            "'/opt/my check'"));
    EXPECT_THAT(
        check_command(site("mpirun", "/opt/pbs/bin/pbs_tmrsh"), 1, "a", back),
        ElementsAre("/opt/pbs/bin/pbs_tmrsh", "b", "/opt/my check", "--call", "a", "4711", "abc", "1"));
    EXPECT_THAT(check_command(site("srun"), 0, "a", back),
                ElementsAre("srun", "--nodes=1", "--ntasks=1", "--nodelist=a", "--overlap", "--overcommit",
                            "--cpu-bind=none", "--gpus-per-node=2", "--export=ALL", "--job-name=dtrain.check",
                            "/opt/my check"));
}

TEST(CheckTargets, AreAllPairsOfFewNodes) {
    const auto targets = probe_targets({0, 1, 3}, 0, 4);
    EXPECT_THAT(targets.at(0), ElementsAre(1, 3));
    EXPECT_THAT(targets.at(1), ElementsAre(0, 3));
    EXPECT_THAT(targets.at(3), ElementsAre(0, 1));
    EXPECT_TRUE(probe_targets({5}, 5, 4).empty());
}

TEST(CheckTargets, OfManyNodesAreTheCentreAndTheNextTwo) {
    std::vector<int> wave;
    for (int node = 128; node < 256; ++node) wave.push_back(node);
    const auto targets = probe_targets(wave, 0, 10'000);
    EXPECT_THAT(targets.at(140), ElementsAre(0, 138, 139, 141, 142));
    EXPECT_THAT(targets.at(128), ElementsAre(0, 129, 130));
    EXPECT_EQ(targets.at(0).size(), 128U);
}

TEST(CheckWaves, HoldEveryNodeOnce) {
    EXPECT_EQ(check_waves(3).size(), 1U);
    std::size_t nodes = 0;
    for (const auto& wave : check_waves(10'000)) {
        EXPECT_LE(wave.size(), 128U);
        nodes += wave.size();
    }
    EXPECT_EQ(nodes, 10'000U);
}

TEST(CheckMessages, ArriveAsTheyWereSent) {
    const CheckTask task{.nonce = "n",
                         .log_dir = "/a b\n",
                         .working_dir = "/",
                         .variables = {{"PATH", "/x"}},
                         .lifetime_s = 7};
    EXPECT_EQ(std::get<CheckTask>(parse_to_checked(to_line(ToChecked(task)))), task);
    const std::vector<CheckPeer> peers{{.node = 3, .host = "fe80::1", .port = 9}};
    EXPECT_EQ(std::get<std::vector<CheckPeer>>(parse_to_checked(to_line(ToChecked(peers)))), peers);
    const NodeInfo info{
        .port = 1, .host_name = "h", .shm_bytes = 5, .open_files = 1024, .log_dir_error = "full"};
    EXPECT_EQ(std::get<NodeInfo>(*parse_from_checked(to_line(FromChecked(info), "n"), "n")), info);
    const ProbeResult result{.to = 2, .error = "", .round_trip_us = 80, .other_ahead_us = -3};
    EXPECT_EQ(std::get<ProbeResult>(*parse_from_checked(to_line(FromChecked(result), "n"), "n")), result);
}

TEST(CheckMessages, WhatOthersSayIsNoAnswer) {
    for (const char* line : {"Welcome to node2", "", "n", "n {", "n {}", "n []", "n {\"info\": 3}",
                             "n {\"info\": {\"port\": \"x\"}}"})
        EXPECT_FALSE(parse_from_checked(line, "n")) << line;
    EXPECT_FALSE(parse_from_checked(to_line(FromChecked(NodeInfo{}), "another"), "n"));
    EXPECT_THROW(parse_to_checked("hello"), Error);
}

TEST(CheckInfo, ComeFromTheWorkersReport) {
    const auto info = with_machine_info({.host_name = "h"}, R"({
        "mpi": {"flavour": "Open MPI", "version": "4.1.4"}, "versions": {"nccl": null, "cuda_runtime": "13.0", "cuda_driver": null},
        "gpus": [{"index": 0, "model": "H200", "issues": []},
                 {"index": 1, "model": "H200", "issues": [{"fault": true, "text": "t", "remedy": "m"}]},
                 {"index": 2, "model": "A100", "issues": [{"fault": true, "text": "unseen", "remedy": ""}]}],
        "adapters": [{"rdma": false}, {"rdma": true}],
        "cuda_visible_devices": {"devices": [{"gpu": 0}, {"gpu": 1}], "error": null}})");
    EXPECT_EQ(info, (NodeInfo{.host_name = "h",
                              .mpi = "Open MPI 4.1.4",
                              .cuda_runtime = "13.0",
                              .gpus = 2,
                              .gpu_models = "H200",
                              .gpu_issues = {{.gpu = 1, .is_fault = true, .text = "t", .remedy = "m"}},
                              .rdma = true}));
    const auto hidden = with_machine_info({}, R"({
        "mpi": {"flavour": "Open MPI", "version": "4.1.4"},
        "versions": {"nccl": "2.28.9", "cuda_runtime": "13.0", "cuda_driver": "12.4", "gpu_driver": "550.54.15",
                     "nccl_built": "2.28.7", "nccl_needed": "2.27.3", "nccl_cuda": "13.0"},
        "gpus": [], "adapters": [], "cuda_visible_devices": {"devices": [], "error": null},
        "other_gpus": [{"pci": "0000:5f:00.0", "issues": [{"fault": true, "text": "t", "remedy": "m"}]}]})");
    EXPECT_EQ(
        hidden,
        (NodeInfo{.mpi = "Open MPI 4.1.4",
                  .nccl = "2.28.9",
                  .cuda_runtime = "13.0",
                  .cuda_driver = "12.4",
                  .gpu_driver = "550.54.15",
                  .nccl_built = "2.28.7",
                  .nccl_needed = "2.27.3",
                  .nccl_cuda = "13.0",
                  .gpu_issues = {{.pci = "0000:5f:00.0", .is_fault = true, .text = "t", .remedy = "m"}}}));
    EXPECT_THROW(with_machine_info({}, "Segmentation fault"), Error);
    EXPECT_THROW(with_machine_info({}, "{}"), Error);
}

/// A node's server in a thread of its own.
class RunningServer {
  public:
    explicit RunningServer(WallClock clock) : server_(reactor_, "secret", std::move(clock)) {
        thread_ = std::jthread([this](const std::stop_token& stop) {
            while (!stop.stop_requested()) reactor_.wait(milliseconds(10));
        });
    }
    CheckPeer peer() const { return {.node = 7, .host = "127.0.0.1", .port = server_.port()}; }

  private:
    transport::Reactor reactor_;
    ProbeServer server_;
    std::jthread thread_;
};

TEST(CheckProbe, ComparesClocks) {
    const RunningServer server([] { return wall_clock_us() + 3'600'000'000; });
    const auto result = probe(server.peer(), "secret", milliseconds(5000));
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.to, 7);
    EXPECT_GT(result.round_trip_us, 0);
    // The comparison is wrong by half a round trip at most; other processes may segment one.
    EXPECT_NEAR(static_cast<double>(result.other_ahead_us), 3.6e9,
                static_cast<double>(result.round_trip_us) / 2 + 1000);
}

TEST(CheckProbe, WithoutTheSecretThereIsNoAnswer) {
    const RunningServer server(wall_clock_us);
    EXPECT_THAT(probe(server.peer(), "secreT", milliseconds(5000)).error, HasSubstr("another program"));
    EXPECT_EQ(probe(server.peer(), "secret", milliseconds(5000)).error, "") << "and others are not disturbed";
}

TEST(CheckProbe, SaysWhyThereIsNoConnection) {
    const auto listener = transport::listen_at("127.0.0.1", 0);
    const int port = port_of(listener);
    EXPECT_THAT(probe({.host = "127.0.0.1", .port = port}, "secret", milliseconds(100)).error,
                HasSubstr("nobody in time"));
    EXPECT_THAT(probe({.host = "no.such.host.invalid", .port = port}, "secret", milliseconds(100)).error,
                HasSubstr("no.such.host.invalid"));
}

TEST(CheckFolder, IsTriedAndLeftAsItWas) {
    const tests::TemporaryFolder folder;
    const auto& path = folder.path();
    EXPECT_EQ(why_not_writable(path / "to" / "be" / "made"), "");
    EXPECT_EQ(why_not_writable(path), "");
    EXPECT_TRUE(std::filesystem::is_empty(path));
    std::ofstream(path / "file") << "x";
    EXPECT_EQ(why_not_writable(path / "file"), "Not a directory");
    EXPECT_EQ(why_not_writable(path / "file" / "log"), "Not a directory");
    EXPECT_NE(why_not_writable("/proc/log"), "");
}

}  // namespace
}  // namespace dtrain::launch
