// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: messages copied from runs of mpirun 4.1.4, 5.0.7 and 5.0.11 over ssh: a killed rank, a cut cable, a
// node that is not there.
#include <gtest/gtest.h>

#include "launch/backend/mpirun/mpirun_messages.hpp"

namespace dtrain::launch {
namespace {

constexpr const char* lost =
    "--------------------------------------------------------------------------\n"
    "ORTE has lost communication with a remote daemon.\n\n"
    "  HNP daemon   : [[19320,0],0] on node node1\n"
    "  Remote daemon: [[19320,0],1] on node 10.77.0.2\n\n"
    "This is usually due to either a failure of the TCP network\n";

TEST(MpirunMessages, AKilledRankIsNamed) {
    EXPECT_EQ(
        rank_named_by_mpirun("mpirun noticed that process rank 12 with PID 505 on node 10.77.0.2 exited "
                             "on signal 9 (Killed).\n"),
        12);
    EXPECT_EQ(rank_named_by_mpirun("prterun noticed that process rank 12 with PID 1234 on node n7 exited on\n"
                                   "signal 9 (Killed).\n"),
              12);
    for (const char* text : {"", "process rank ", "process rank", "process rank x with", "process rank \n",
                             "There are not enough slots available"})
        EXPECT_EQ(rank_named_by_mpirun(text), std::nullopt) << text;
    EXPECT_EQ(rank_named_by_mpirun(lost), std::nullopt);
}

TEST(MpirunMessages, ALostNodeIsNamed) {
    EXPECT_EQ(node_lost_by_mpirun(lost), "10.77.0.2");
    EXPECT_EQ(node_lost_by_mpirun("PRTE has lost communication with a remote daemon.\n\n"
                                  "  HNP daemon   : [prterun-node1-89@0,0] on node node1\n"
                                  "  Remote daemon: [prterun-node1-89@0,1] on node node2\n"),
              "node2");
    EXPECT_EQ(node_lost_by_mpirun(""), std::nullopt);
    EXPECT_EQ(node_lost_by_mpirun("  Remote daemon: [[19320,0],1] on node a\n"), std::nullopt)
        << "that alone does not say what became of it";
    EXPECT_EQ(node_lost_by_mpirun("lost communication\nRemote daemon: torn"), std::nullopt);
}

TEST(MpirunMessages, TheShellsOwnSentenceTellsWhyANodeWasNotReached) {
    EXPECT_EQ(
        start_refused_by_shell("ssh: connect to host 10.77.0.9 port 22: No route to host\n----\nORTE was\n"),
        "ssh: connect to host 10.77.0.9 port 22: No route to host");
    EXPECT_EQ(start_refused_by_shell("root@10.77.0.2: Permission denied (publickey).\n"),
              "root@10.77.0.2: Permission denied (publickey).");
    EXPECT_EQ(start_refused_by_shell("Host key verification failed.\n"), "Host key verification failed.");
    EXPECT_EQ(start_refused_by_shell("There are not enough slots\n"), std::nullopt);
}

TEST(MpirunMessages, ARankThatLeftMpi) {
    EXPECT_EQ(rank_that_left_mpi(
                  "mpirun has exited due to process rank 3 with PID 0 on\nnode vm exiting improperly. "),
              3);
    EXPECT_EQ(rank_that_left_mpi("prterun has exited due to process rank 1 with PID 10 on node vm exiting\n"
                                 "improperly. There are three reasons this could occur:\n"),
              1);
    EXPECT_EQ(rank_that_left_mpi("process rank 1 with PID 0 on node big exited on signal 9 (Killed)."),
              std::nullopt);
    EXPECT_EQ(rank_that_left_mpi(""), std::nullopt);
}

}  // namespace
}  // namespace dtrain::launch
