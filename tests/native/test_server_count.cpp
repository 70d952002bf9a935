// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the rules of count_servers() in the header, for each way to cut the ranks into programs. Runs at
// any number of ranks; where there are too few for so many programs a test skips.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "native/server_job.hpp"
#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain::native {
namespace {

using testing::HasSubstr;
using tests::message_of;

Job job_of(ModelKind kind, std::optional<ServerSettings> servers = std::nullopt) {
    Job job;
    job.model.kind = kind;
    job.servers = servers;
    return job;
}

Job click_through() {
    return job_of(ModelKind::click_through);
}

/// The first `first` ranks are a program and each of `more - 1` ranks after it, then all others.
int program_of_rank(int first, int more = 1) {
    return std::clamp(test_world().rank() - first + 1, 0, more);
}

int servers_of(const Job& job, int program, const Environment& environment = {}) {
    return count_servers(job, environment, test_world(), program);
}

TEST(CountServers, TheFirstOfTwoProgramsServesAClickThroughJob) {
    if (test_world().size() < 2) GTEST_SKIP() << "two programs";
    for (int first = 1; first < test_world().size(); ++first)
        EXPECT_EQ(servers_of(click_through(), program_of_rank(first)), first);
}

TEST(CountServers, OneProgramHasNone) {
    EXPECT_EQ(servers_of(click_through(), 0), 0);
}

TEST(CountServers, TwoProgramsOfAClassifierAreRanks) {
    for (int first = 1; first < test_world().size(); ++first)
        EXPECT_EQ(servers_of(job_of(ModelKind::classifier), program_of_rank(first)), 0);
}

TEST(CountServers, ThreeProgramsAreRanks) {
    if (test_world().size() < 3) GTEST_SKIP() << "three programs";
    EXPECT_EQ(servers_of(click_through(), program_of_rank(1, 2)), 0);
}

TEST(CountServers, ProgramsOfDtrainLaunchAreRanks) {
    EXPECT_EQ(servers_of(click_through(), program_of_rank(1), {{"DTRAIN_JOB_TOKEN", "0123"}}), 0);
}

TEST(CountServers, JobFilesOfTwoKindsAreRanks) {
    const auto kind = test_world().rank() == 0 ? ModelKind::classifier : ModelKind::click_through;
    EXPECT_EQ(servers_of(job_of(kind), program_of_rank(1)), 0);
}

TEST(CountServers, WithServersInTheJobFileAnyJobsProgramsCount) {
    const int ranks = test_world().size();
    const ServerSettings untold;
    for (const auto kind : {ModelKind::classifier, ModelKind::click_through}) {
        for (int first = 1; first < ranks; ++first)
            EXPECT_EQ(servers_of(job_of(kind, untold), program_of_rank(first)), first);
        if (ranks > 2) {
            EXPECT_EQ(servers_of(job_of(kind, untold), program_of_rank(1, 2)), 1);
        }
    }
}

TEST(CountServers, TheJobFileCountsWhereThereIsOneProgram) {
    EXPECT_EQ(servers_of(job_of(ModelKind::click_through, ServerSettings{{.count = 3}}), 0), 3);
    EXPECT_THAT(message_of([] { servers_of(job_of(ModelKind::click_through, ServerSettings{}), 0); }),
                HasSubstr("[servers] needs its 'count'"));
}

TEST(CountServers, TheJobFileMustAgreeWithThePrograms) {
    if (test_world().size() < 2) GTEST_SKIP() << "two programs";
    const auto job = job_of(ModelKind::click_through, ServerSettings{{.count = 7}});
    EXPECT_EQ(message_of([&] { servers_of(job, program_of_rank(1)); }),
              "[servers] count is 7, but the launcher started 1 servers");
}

TEST(CountServers, TheLauncherSaysItToAnyJob) {
    const auto serves = test_world().rank() == 0;
    const Environment launched{{"TRAINING_ROLE", serves ? "PSERVER" : "TRAINER"},
                               {"PADDLE_PSERVERS_IP_PORT_LIST", "127.0.0.1:6170"}};
    for (const auto kind : {ModelKind::classifier, ModelKind::click_through})
        EXPECT_EQ(servers_of(job_of(kind), program_of_rank(1), launched), 1);
}

}  // namespace
}  // namespace dtrain::native
