// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: outputs in the formats of squeue's and qstat's manual pages, put together by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/jobs/queue.hpp"

namespace dtrain::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using State = QueuedJob::State;

TEST(Squeue, TellsWhyAJobWaitsAndWhereItRuns) {
    EXPECT_THAT(parse_squeue("12|PENDING|n/a|Resources\n"
                             "13|RUNNING|node3|None\n"
                             "14|PENDING|n/a|None\n"
                             "15_3|COMPLETING|node1|None\n"
                             "16|CANCELLED|n/a|None\n"),
                ElementsAre(QueuedJob{.number = "12", .state = State::pending, .why = "Resources"},
                            QueuedJob{.number = "13", .state = State::running, .host = "node3"},
                            QueuedJob{.number = "14", .state = State::pending},
                            QueuedJob{.number = "15_3", .state = State::running, .host = "node1"},
                            QueuedJob{.number = "16", .state = State::ended}));
    EXPECT_THAT(parse_squeue(""), IsEmpty());
    EXPECT_THAT(parse_squeue("slurm_load_jobs error: Unable to contact slurm controller\n"), IsEmpty());
}

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

TEST(CancelCommand, AsksTheSchedulerThatHasTheJob) {
    EXPECT_THAT(cancel_command("slurm", "12", true),
                ElementsAre("scancel", "--batch", "--signal=TERM", "12"));
    EXPECT_THAT(cancel_command("slurm", "12", false), ElementsAre("scancel", "12"));
    EXPECT_THAT(cancel_command("pbs", "12.server", true), ElementsAre("qdel", "12.server"));
}

}  // namespace
}  // namespace dtrain::launch
