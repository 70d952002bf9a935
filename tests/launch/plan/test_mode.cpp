// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the modes of --run_mode, and Paddle's table of the options that stand for one.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/options/server_options.hpp"
#include "launch/plan/mode.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using tests::refuses;

/// The options of a small job with servers.
Options with_servers(std::optional<RunMode> run_mode = {}) {
    return {.run_mode = run_mode, .server_num = 1, .worker_num = 2};
}

TEST(RunMode, Names) {
    EXPECT_EQ(to_string(RunMode::collective), "collective");
    EXPECT_EQ(to_string(RunMode::parameter_server), "ps");
    EXPECT_EQ(to_string(RunMode::heterogeneous), "ps-heter");
    EXPECT_EQ(to_string(RunMode::rpc), "rpc");
    EXPECT_TRUE(has_servers(RunMode::parameter_server) && has_servers(RunMode::heterogeneous));
    EXPECT_FALSE(has_servers(RunMode::collective) || has_servers(RunMode::rpc));
}

TEST(RunMode, CollectiveUnlessTold) {
    EXPECT_EQ(decide_mode({}), RunMode::collective);
    EXPECT_EQ(decide_mode({.gpus = "0,1", .nproc_per_node = 2, .ips = "a,b"}), RunMode::collective);
    EXPECT_EQ(decide_mode({.run_mode = RunMode::collective}), RunMode::collective);
    EXPECT_EQ(decide_mode({.run_mode = RunMode::rpc, .nproc_per_node = 2}), RunMode::rpc);
}

TEST(RunMode, ToldByServersAndWorkers) {
    EXPECT_EQ(decide_mode(with_servers()), RunMode::parameter_server);
    EXPECT_EQ(decide_mode(with_servers(RunMode::parameter_server)), RunMode::parameter_server);
    EXPECT_EQ(decide_mode({.servers = "a:1", .workers = "a:2"}), RunMode::parameter_server);
    EXPECT_EQ(decide_mode({.worker_num = 1, .servers = "a:1", .http_port = 80}), RunMode::parameter_server);
    for (const auto& add : std::vector<std::function<void(Options&)>>{
             [](Options& options) { options.heter_worker_num = "2"; },
             [](Options& options) { options.heter_workers = "a:3"; }}) {
        auto options = with_servers();
        add(options);
        EXPECT_EQ(decide_mode(options), RunMode::heterogeneous);
        options.run_mode = RunMode::heterogeneous;
        EXPECT_EQ(decide_mode(options), RunMode::heterogeneous);
        options.run_mode = RunMode::parameter_server;
        EXPECT_THAT([&] { decide_mode(options); }, refuses("--heter_worker", "ps-heter"));
    }
}

TEST(RunMode, OptionsOfServersBelongToTheirModes) {
    for (const auto mode : {RunMode::collective, RunMode::rpc}) {
        const auto name = to_string(mode);
        EXPECT_THAT([&] { decide_mode({.run_mode = mode, .server_num = 3}); },
                    refuses("--server_num 3", name));
        EXPECT_THAT([&] { decide_mode({.run_mode = mode, .worker_num = 3}); },
                    refuses("--worker_num 3", name));
        EXPECT_THAT([&] { decide_mode({.run_mode = mode, .servers = "a:1"}); },
                    refuses("--servers a:1", name));
        EXPECT_THAT([&] { decide_mode({.run_mode = mode, .workers = "a:1"}); },
                    refuses("--workers a:1", name));
        EXPECT_THAT([&] { decide_mode({.run_mode = mode, .http_port = 80}); },
                    refuses("--http_port 80", name));
        EXPECT_THAT([&] { decide_mode({.run_mode = mode, .heter_devices = "gpu"}); },
                    refuses("--heter_devices gpu", "ps-heter"));
    }
}

TEST(RunMode, OptionsOfCollectiveJobsAreRefusedWithServers) {
    const auto given = [](const std::function<void(Options&)>& add) {
        return [add] {
            auto options = with_servers();
            add(options);
            decide_mode(options);
        };
    };
    EXPECT_THAT(given([](Options& options) { options.nproc_per_node = 2; }),
                refuses("--nproc_per_node 2", "--worker_num"));
    EXPECT_THAT(given([](Options& options) { options.ips = "a,b"; }), refuses("--ips a,b", "--servers"));
    EXPECT_THAT(given([](Options& options) { options.hostfile = "h"; }),
                refuses("--hostfile h", "--servers"));
    EXPECT_THAT(given([](Options& options) { options.nnodes = "2"; }), refuses("--nnodes 2", "--servers"));
    EXPECT_THAT(given([](Options& options) { options.backend = ProgramBackend::gloo; }),
                refuses("--backend gloo", "collective"));
}

TEST(RunMode, NodesOfAJobWithServersMayMeetAtAMaster) {
    auto options = with_servers();
    options.nnodes = "2";
    options.master = "10.0.0.1:6000";
    EXPECT_EQ(decide_mode(options), RunMode::parameter_server);
    options.heter_worker_num = "1";
    EXPECT_THAT([&] { decide_mode(options); }, refuses("--nnodes 2", "--heter_workers"));
    options = {.master = "10.0.0.1:6000", .nnodes = "2", .servers = "a:1", .workers = "a:2"};
    EXPECT_THAT([&] { decide_mode(options); }, refuses("--nnodes 2", "--servers"));
}

TEST(RunMode, PsAloneIsOneServerAndOneWorker) {
    EXPECT_TRUE(has_one_server_and_worker({.run_mode = RunMode::parameter_server}));
    EXPECT_TRUE(has_one_server_and_worker(
        {.run_mode = RunMode::parameter_server, .server_device = Device::Kind::gpu, .http_port = 80}));
    EXPECT_FALSE(has_one_server_and_worker({}));
    EXPECT_FALSE(has_one_server_and_worker({.run_mode = RunMode::collective}));
    EXPECT_FALSE(has_one_server_and_worker({.run_mode = RunMode::heterogeneous}));
    EXPECT_FALSE(has_one_server_and_worker({.run_mode = RunMode::parameter_server, .server_num = 2}));
    EXPECT_FALSE(has_one_server_and_worker({.run_mode = RunMode::parameter_server, .workers = "a"}));
    EXPECT_FALSE(has_one_server_and_worker({.run_mode = RunMode::parameter_server, .heter_worker_num = "1"}));
}

TEST(RunMode, AJobWithServersNeedsBothKinds) {
    EXPECT_THAT([] { decide_mode({.run_mode = RunMode::parameter_server}); },
                refuses("--run_mode ps", "--server_num N"));
    EXPECT_THAT([] { decide_mode({.server_num = 2}); }, refuses("--server_num 2", "--worker_num N"));
    EXPECT_THAT([] { decide_mode({.workers = "a"}); }, refuses("--workers a", "--server_num N"));
    EXPECT_THAT([] { decide_mode({.http_port = 80}); }, refuses("--http_port 80", "--server_num N"));
    EXPECT_THAT([] { decide_mode(with_servers(RunMode::heterogeneous)); },
                refuses("--run_mode ps-heter", "--heter_worker_num N"));
    EXPECT_THAT([] { decide_mode({.server_num = 1, .worker_num = 1, .heter_devices = "gpu"}); },
                refuses("heterogeneous workers", "--heter_worker_num N"));
}

}  // namespace
}  // namespace dtrain::launch
