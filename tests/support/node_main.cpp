// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// main() of tests whose ranks are forked processes that never call MPI: as many as DTRAIN_TEST_RANKS says.
// GoogleTest runs in each of them over a node_communicator(); the exit status is the worst of all ranks.
#include <algorithm>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include <dtrain/node_communicator.hpp>

#include "support/rank_report.hpp"
#include "support/test_world.hpp"

namespace {

int run_as(const dtrain::NodeRanks& ranks) {
    dtrain::test_world_maker() = [ranks] { return dtrain::node_communicator(ranks); };
    dtrain::tests::report_as_rank(ranks.rank, ranks.size, [] { std::_Exit(1); });
    (void)dtrain::test_world();
    const int status = RUN_ALL_TESTS();
    int mpi_was_initialised = 0;
    MPI_Initialized(&mpi_was_initialised);
    if (mpi_was_initialised == 0) return status;
    std::fputs("MPI was initialised\n", stderr);
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    const char* const wanted = std::getenv("DTRAIN_TEST_RANKS");
    dtrain::NodeRanks ranks{.name = dtrain::node_communicator_name(),
                            .size = wanted == nullptr ? 2 : std::atoi(wanted)};
    for (; ranks.rank < ranks.size; ++ranks.rank)
        if (::fork() == 0) return run_as(ranks);
    int worst = 0;
    for (int status = 0; ::wait(&status) > 0;)
        worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    return worst;
}
