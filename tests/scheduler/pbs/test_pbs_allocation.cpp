// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: PBS' manual: the node file has a line for each MPI process of each chunk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "scheduler/pbs/pbs_allocation.hpp"

namespace dtrain::scheduler {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const Environment in_a_job{{"PBS_JOBID", "123.server"}, {"PBS_NODEFILE", "/var/spool/pbs/aux/123.server"}};

std::optional<Allocation> read(const Environment& environment, std::optional<std::string> content) {
    return pbs_allocation(environment, [&](const std::string&) { return content; });
}

TEST(PbsAllocation, ALineIsAnMpiProcess) {
    const auto found = read(in_a_job, "n1.cluster\nn1.cluster\nn2.cluster\nn2.cluster\n");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->job_id, "123.server");
    EXPECT_THAT(found->nodes,
                ElementsAre(cluster::HostSlots{"n1.cluster", 2}, cluster::HostSlots{"n2.cluster", 2}));
    EXPECT_TRUE(found->task_count_requested);
    EXPECT_FALSE(read(in_a_job, "n1\nn2\n")->task_count_requested);
    EXPECT_EQ(found->gpus_of_node, std::nullopt);
    auto with_gpus = in_a_job;
    with_gpus.set("CUDA_VISIBLE_DEVICES", "GPU-8932f937,GPU-2f6c3a1e");
    EXPECT_EQ(read(with_gpus, "n1\n")->gpus_of_node, 2);
    with_gpus.set("CUDA_VISIBLE_DEVICES", "");
    EXPECT_EQ(read(with_gpus, "n1\n")->gpus_of_node, 0);
}

TEST(PbsAllocation, NothingOutsideOfAJob) {
    EXPECT_EQ(read({}, "n1\n"), std::nullopt);
    EXPECT_EQ(read({{"PBS_NODEFILE", "f"}}, "n1\n"), std::nullopt) << "left over in a shell";
    EXPECT_EQ(read(in_a_job, std::nullopt), std::nullopt) << "another machine's file";
}

TEST(PbsAllocation, WhatIsNoNodeIsNamed) {
    EXPECT_THAT([] { read(in_a_job, "n1\nn 2\n"); },
                ThrowsMessage<UsageError>(
                    AllOf(HasSubstr("PBS_NODEFILE=/var/spool/pbs/aux/123.server"), HasSubstr("2"))));
    EXPECT_THAT([] { read(in_a_job, "n1\n-Fevil.conf\n"); },
                ThrowsMessage<UsageError>(HasSubstr("'-Fevil.conf' is no host name")));
    EXPECT_THAT([] { read(in_a_job, "\n"); }, ThrowsMessage<UsageError>(HasSubstr("names no node")));
}

TEST(PlaceOfPbs, IsWhatItsSettingsSay) {
    EXPECT_EQ(pbs_prefix({}, ""), "/opt/pbs");
    const char* settings =
        "PBS_SERVER=ctl\n#PBS_EXEC=/old\nPBS_EXECUTABLE=/x\nPBS_EXEC=/usr/pbs\nPBS_HOME=/var/spool/pbs\n";
    EXPECT_EQ(pbs_prefix({}, settings), "/usr/pbs");
    EXPECT_EQ(pbs_prefix({}, "PBS_EXEC=\"/usr/my pbs\"\r\n"), "/usr/my pbs");
    EXPECT_EQ(pbs_prefix({{"PBS_EXEC", "/opt/other"}}, settings), "/opt/other");
    EXPECT_EQ(pbs_prefix({}, "PBS_EXEC="), "/opt/pbs");
}

}  // namespace
}  // namespace dtrain::scheduler
