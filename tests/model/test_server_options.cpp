// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: what the comments of ModelOptions::servers and ParameterServers say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/model.hpp>

#include "model/servers.hpp"
#include "ps/job/server_count.hpp"
#include "ps/job/split_job.hpp"
#include "small_models.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using tests::message_of;

ModelOptions two_servers(ModelOptions options = {}) {
    options.servers = ParameterServers{.count = 2};
    return options;
}

std::string refusal_of(const ModelOptions& options) {
    return message_of([&] { model::check_servers(options); });
}

TEST(ServerOptions, WhatAddsGradientsElsewhereIsRefused) {
    EXPECT_EQ(refusal_of(two_servers()), "");
    EXPECT_EQ(refusal_of(two_servers({.virtual_ranks = 4})),
              "ModelOptions::virtual_ranks and ModelOptions::servers exclude each other: servers add the "
              "gradients; leave one out");
    EXPECT_THAT(refusal_of(two_servers({.local_sgd = 4})), StartsWith("ModelOptions::local_sgd and"));
    EXPECT_THAT(refusal_of(two_servers({.nccl = true})), StartsWith("ModelOptions::nccl and"));
    EXPECT_THAT(refusal_of(two_servers({.products = ComputeType::float16})), HasSubstr("leave out steps"));
}

TEST(ServerOptions, TheModeIsAKnownOne) {
    for (const auto mode : {ServerMode::sync, ServerMode::async, ServerMode::half_async, ServerMode::geo})
        EXPECT_EQ(refusal_of({.servers = ParameterServers{.mode = mode}}), "");
    for (const int mode : {-1, 4})
        EXPECT_EQ(refusal_of({.servers = ParameterServers{.mode = static_cast<ServerMode>(mode)}}),
                  "ParameterServers::mode is " + std::to_string(mode) +
                      "; it is one of sync, async, half_async and geo of ServerMode");
}

TEST(ServerOptions, TheLauncherOrTheProgramSaysHowManyServe) {
    EXPECT_EQ(ps::server_count({}, 2, 4), 2);
    EXPECT_EQ(ps::server_count({.count = 3}, 0, 4), 3);
    EXPECT_EQ(ps::server_count({.count = 2}, 2, 4), 2);
    EXPECT_EQ(message_of([] { ps::server_count({.count = 1}, 2, 4); }),
              "ParameterServers::count is 1, but the launcher started 2 servers");
    EXPECT_EQ(
        message_of([] { ps::server_count({}, 0, 4); }),
        "the model is to be trained with parameter servers, and none of the job's 4 ranks is one: start "
        "it with dtrain-launch --server_num N --worker_num M, or set ParameterServers::count to how "
        "many serve");
}

TEST(ServerOptions, AModelThatWasStartedAloneHasNoServers) {
    EXPECT_THAT(message_of([] { small_model({.servers = ParameterServers{}}); }),
                HasSubstr("none of the job's 1 ranks is one: start it with dtrain-launch --server_num"));
    EXPECT_THAT(message_of([] { small_model(two_servers()); }),
                HasSubstr("2 parameter servers in a job of 1 ranks"));
}

TEST(ServerOptions, WithoutServersNoRankServes) {
    auto model = prepared_model();
    EXPECT_FALSE(model.serve());
    EXPECT_THROW(small_model().serve(), NotPreparedError);
}

TEST(ServerOptions, AllReachTheServers) {
    const auto options = ps::job_options({.mode = ServerMode::half_async,
                                          .staleness = 3,
                                          .most_merged = 4,
                                          .wire = WireType::bfloat16,
                                          .device = Device::gpu(1),
                                          .threads = 5,
                                          .memory = 6000,
                                          .spill = "/tmp/rows",
                                          .rows = {.admission = AdmitByCount{.count = 7}},
                                          .reject_not_finite = true,
                                          .metrics = ServerMetricsOptions{.port = "9400"}},
                                         8, 9);
    EXPECT_EQ(options.mode, ServerMode::half_async);
    EXPECT_EQ(options.staleness, 3);
    EXPECT_EQ(options.most_merged, 4);
    EXPECT_EQ(options.wire, WireType::bfloat16);
    EXPECT_EQ(options.device, Device::gpu(1));
    EXPECT_EQ(options.table_threads, 5);
    EXPECT_EQ(options.memory, 6000);
    EXPECT_EQ(options.spill, "/tmp/rows");
    EXPECT_EQ(options.rows.admission, Admission(AdmitByCount{.count = 7}));
    EXPECT_TRUE(options.reject_not_finite);
    EXPECT_EQ(options.metrics.value().port, "9400");
    EXPECT_EQ(options.seed, 8U);
    EXPECT_EQ(options.threads, 9);
}

}  // namespace
}  // namespace dtrain
