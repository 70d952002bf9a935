// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: output in the format of qstat's manual page, put together by hand; PBS' manual.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "scheduler/pbs/pbs.hpp"

namespace dtrain::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using State = QueuedJob::State;

TEST(Qstat, TellsWhyAJobWaitsAndWhereItRuns) {
    EXPECT_THAT(parse_qstat("Job Id: 12.server\n"
                            "    Job_Name = train\n"
                            "    job_state = Q\n"
                            "    comment = Not Running: Insufficient amount of resource: ncpus\n"
                            "\n"
                            "Job Id: 13.server\n"
                            "    job_state = R\n"
                            "    exec_host = node3/0*4+node4/0*4\n"
                            "    comment = Job run at Sat Nov 21 at 15:00 on (node3:ncpus=4)\n"
                            "\n"
                            "Job Id:\t14\n"
                            "\tjob_state = F\n"),
                ElementsAre(QueuedJob{.number = "12.server",
                                      .state = State::pending,
                                      .why = "Not Running: Insufficient amount of resource: ncpus"},
                            QueuedJob{.number = "13.server", .state = State::running, .host = "node3"},
                            QueuedJob{.number = "14", .state = State::ended}));
    EXPECT_THAT(parse_qstat("qstat: Unknown Job Id 99.server\n"), IsEmpty());
}

TEST(Qstat, AJobThatIsExitingHasNotEnded) {
    EXPECT_EQ(parse_qstat("Job Id: 7.s\n    job_state = E\n").at(0).state, QueuedJob::State::running);
    EXPECT_EQ(parse_qstat("Job Id: 7.s\n    job_state = F\n").at(0).state, QueuedJob::State::ended);
}

TEST(Qstat, GoesOnBehindATabulatorWhereALineWouldBeTooLong) {
    // As OpenPBS 23.06 prints it.
    EXPECT_THAT(
        parse_qstat("Job Id: 7.ctl\n"
                    "    job_state = Q\n"
                    "    comment = Can Never Run: Insufficient amount of resource: ncpus (R: 99 A: 2\n"
                    "\t4 T: 24)\n"
                    "    Variable_List = PBS_O_HOME=/home/a,PBS_O_LANG=C,\n"
                    "\tPBS_O_LOGNAME=a = b\n"),
        ElementsAre(
            QueuedJob{.number = "7.ctl",
                      .state = State::pending,
                      .why = "Can Never Run: Insufficient amount of resource: ncpus (R: 99 A: 24 T: 24)"}));
}

TEST(Pbs, CancelsWithOneCommandForBothWays) {
    EXPECT_THAT(Pbs().cancel_command("12.server", true), ElementsAre("qdel", "12.server"));
    EXPECT_THAT(Pbs().cancel_command("12.server", false), ElementsAre("qdel", "12.server"));
}

// As sbatch's manual page has them.
TEST(PbsScript, TimeLimits) {
    EXPECT_EQ(walltime_of("90"), "01:30:00");
    EXPECT_EQ(walltime_of("90:30"), "01:30:30");
    EXPECT_EQ(walltime_of("1:30:00"), "01:30:00");
    EXPECT_EQ(walltime_of("2-12"), "60:00:00");
    EXPECT_EQ(walltime_of("2-12:30"), "60:30:00");
    EXPECT_EQ(walltime_of("1-0:0:1"), "24:00:01");
    for (const char* wrong : {"", "x", "1:2:3:4", "-1", "1-", "1-2:3:4:5", "1e3", "99999999999"})
        EXPECT_THROW(walltime_of(wrong), UsageError) << wrong;
}

}  // namespace
}  // namespace dtrain::scheduler
