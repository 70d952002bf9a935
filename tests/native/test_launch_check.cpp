// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: what was seen with Open MPI 4.1.4 under each launcher: under another MPI's mpirun every process is
// a world of one; in a Slurm step without PMIx MPI_Init ends the process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "native/launch_check.hpp"

namespace dtrain::native {
namespace {

using cluster::Launcher;
using testing::HasSubstr;

cluster::Identity announced(Launcher launcher, int size) {
    cluster::Identity out;
    out.launcher = launcher;
    out.size = size;
    return out;
}

TEST(LaunchCheck, SameSizeIsRight) {
    for (const auto launcher : {Launcher::open_mpi, Launcher::hydra, Launcher::slurm, Launcher::dtrain})
        EXPECT_EQ(world_mismatch(announced(launcher, 4), 4, "Open MPI v4.1.4"), std::nullopt);
    // Nothing was announced, so nothing contradicts.
    EXPECT_EQ(world_mismatch(announced(Launcher::none, 1), 4, "Open MPI v4.1.4"), std::nullopt);
}

TEST(LaunchCheck, AnotherMpisLauncher) {
    const auto text =
        world_mismatch(announced(Launcher::hydra, 2), 1, "Open MPI v4.1.4, package: Debian OpenMPI").value();
    EXPECT_THAT(text, HasSubstr("started 2 ranks"));
    EXPECT_THAT(text, HasSubstr("(Open MPI v4.1.4)"));
    EXPECT_THAT(text, HasSubstr("world of 1"));
    EXPECT_THAT(text, HasSubstr("mpirun -np 2 dtrain-worker"));
    EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(LaunchCheck, SlurmWithoutPmix) {
    const Environment without{{"SLURM_PROCID", "0"}};
    const auto four = announced(Launcher::slurm, 4);
    EXPECT_THAT(why_mpi_cannot_start(four, without, true).value(),
                HasSubstr("srun --mpi=pmix -n 4 dtrain-worker"));
    EXPECT_THAT(world_mismatch(four, 1, "Open MPI v4.1.4").value(), HasSubstr("srun --mpi=pmix -n 4"));
    EXPECT_FALSE(must_hide_slurm_step(four, without, true));

    const auto one = announced(Launcher::slurm, 1);
    EXPECT_EQ(why_mpi_cannot_start(one, without, true), std::nullopt);
    EXPECT_TRUE(must_hide_slurm_step(one, without, true));

    for (const char* name : {"PMIX_RANK", "PMI_FD"}) {
        const Environment with{{"SLURM_PROCID", "0"}, {name, "0"}};
        EXPECT_EQ(why_mpi_cannot_start(four, with, true), std::nullopt) << name;
        EXPECT_FALSE(must_hide_slurm_step(one, with, true)) << name;
    }
    EXPECT_EQ(why_mpi_cannot_start(four, without, false), std::nullopt);
    EXPECT_EQ(why_mpi_cannot_start(announced(Launcher::open_mpi, 4), without, true), std::nullopt);
    EXPECT_FALSE(must_hide_slurm_step(announced(Launcher::none, 1), {}, true));
}

TEST(LaunchCheck, NoDaemonWhereNoLauncherServesTheRank) {
    const Environment all{{"OMPI_MCA_ess_singleton_isolated", "1"},
                          {"OMPI_MCA_orte_create_session_dirs", "0"},
                          {"OMPI_MCA_sharedfp", "individual"}};
    const auto none = announced(Launcher::none, 1);
    EXPECT_EQ(variables_without_daemon(none, {}, true), all);
    EXPECT_EQ(variables_without_daemon(announced(Launcher::slurm, 1), {{"SLURM_PROCID", "0"}}, true), all);
    EXPECT_EQ(variables_without_daemon(none, {}, false), Environment());
    const Environment with_pmix{{"SLURM_PROCID", "0"}, {"PMIX_RANK", "0"}};
    EXPECT_EQ(variables_without_daemon(announced(Launcher::slurm, 1), with_pmix, true), Environment());
    EXPECT_EQ(variables_without_daemon(announced(Launcher::open_mpi, 1), {}, true), Environment());

    EXPECT_EQ(variables_without_daemon(none, {{"OMPI_MCA_ess_singleton_isolated", "0"}}, true),
              Environment());
    const Environment first_two{{"OMPI_MCA_ess_singleton_isolated", "1"},
                                {"OMPI_MCA_orte_create_session_dirs", "0"}};
    EXPECT_EQ(variables_without_daemon(none, {{"OMPI_MCA_sharedfp", "sm"}}, true), first_two);
}

}  // namespace
}  // namespace dtrain::native
