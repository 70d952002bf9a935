// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what --engine's help says; the output of `squeue --noheader --steps --format='%i %j'` of
// Slurm 22.05.
#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/backend/mpirun/mpirun_backend.hpp"
#include "launch/backend/registry.hpp"
#include "launch/backend/srun/slurm_step.hpp"
#include "launch/backend/srun/srun_backend.hpp"
#include "launch/options/backend_names.hpp"
#include "launch/plan/nodes.hpp"
#include "support/refuses.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::launch {
namespace {

using tests::refuses;

/// A site with these programs in PATH, each of which does nothing.
class Site {
  public:
    explicit Site(const std::vector<std::string>& programs) {
        for (const auto& program : programs) {
            tests::write_bytes(folder_ / program, "#!/bin/sh\n");
            std::filesystem::permissions(folder_ / program, std::filesystem::perms::owner_all);
        }
        environment_.set("PATH", folder_.path().string());
    }

    std::string chosen(const std::string& wanted, std::string_view scheduler) {
        if (!scheduler.empty()) allocation_.emplace().job_id = "12";
        return std::string(
            choose_backend(wanted,
                           {.environment = environment_, .allocation = allocation_, .scheduler = scheduler})
                .name());
    }

  private:
    tests::TemporaryFolder folder_;
    Environment environment_;
    std::optional<scheduler::Allocation> allocation_;
};

TEST(Engine, SrunInAnAllocationElseMpirun) {
    EXPECT_EQ(Site({"srun"}).chosen("auto", "slurm"), "srun");
    EXPECT_EQ(Site({"srun"}).chosen("auto", ""), "mpirun");
    EXPECT_EQ(Site({"srun"}).chosen("auto", "pbs"), "mpirun");
    EXPECT_EQ(Site({}).chosen("auto", "slurm"), "mpirun") << "a container without Slurm's programs";
    EXPECT_EQ(Site({"srun"}).chosen("mpirun", "slurm"), "mpirun");
    EXPECT_EQ(Site({"srun"}).chosen("srun", "slurm"), "srun");
    std::vector<std::string_view> names{"auto"};
    for (const auto* each : launch_backends()) names.push_back(each->name());
    EXPECT_THAT(backend_choices(), testing::UnorderedElementsAreArray(names));
}

TEST(Engine, SrunThatCannotBeIsRefused) {
    EXPECT_THAT([] { Site({"srun"}).chosen("srun", ""); }, refuses("allocation"));
    EXPECT_THAT([] { Site({}).chosen("srun", "slurm"); }, refuses("not in PATH"));
}

TEST(Engine, RanksBehindSrunAreNeverReachedBySignals) {
    const auto control = SrunBackend().control("12", "abcdef0123");
    EXPECT_TRUE(control.by_lines);
    EXPECT_EQ(control.death_signal, 0) << "SIGTERM would make it kill the ranks without grace";
    EXPECT_EQ(control.at_once, SIGTERM) << "srun kills its tasks by it, and passes others on";
    EXPECT_TRUE(control.end_remaining);
    EXPECT_EQ(step_name("abcdef0123"), "dtrain.abcdef01");
    const auto of_mpirun = MpirunBackend().control("", "abcdef0123");
    EXPECT_EQ(of_mpirun.death_signal, SIGTERM);
    EXPECT_EQ(of_mpirun.at_once, SIGKILL);
    EXPECT_FALSE(of_mpirun.end_remaining);
}

TEST(Engine, NamesItsNodesDaemonInReports) {
    EXPECT_EQ(backend_named("srun").node_daemon(), "Slurm daemon");
    EXPECT_EQ(backend_named("mpirun").node_daemon(), "MPI daemon");
    EXPECT_EQ(find_backend("flux"), nullptr);
    EXPECT_THROW(backend_named("flux"), Error);
}

/// What a program writes may look like a message of mpirun.
TEST(Engine, ARankThatCannotBeIsNotBelieved) {
    EXPECT_FALSE(MpirunBackend().diagnose("process rank 999999999 with PID 1 on node a exited").died);
    EXPECT_FALSE(MpirunBackend().diagnose("process rank -3 with PID 1 on node a exited").died);
    EXPECT_TRUE(MpirunBackend().diagnose("process rank 3 with PID 1 on node a exited").died->contains(3));
}

TEST(SlurmStep, IsFoundByItsName) {
    EXPECT_EQ(find_step("12.batch batch\n12.extern extern\n12.3 dtrain.ab\n12.4 dtrain.abc\n", "dtrain.abc"),
              "12.4");
    EXPECT_EQ(find_step("12.4 dtrain.abc\n12.3 dtrain.ab\n", "dtrain.ab"), "12.3");
    EXPECT_EQ(find_step(" 12.3   dtrain.ab \n", "dtrain.ab"), "12.3");
    for (const char* output :
         {"", "\n", "12.3 dtrain.a\n", "slurm_load_job_steps error: Invalid job id specified\n"})
        EXPECT_EQ(find_step(output, "dtrain.ab"), std::nullopt) << output;
}

TEST(UsesAllocation, UnlessOtherNodesAreNamed) {
    const scheduler::Allocation allocation{.job_id = "12", .nodes = {{"node1", 1}, {"node2", 1}}};
    const auto uses = [&](const Options& options, const Environment& environment = {}) {
        return uses_allocation(options, environment, allocation);
    };
    EXPECT_TRUE(uses({}));
    EXPECT_TRUE(uses({.master = "10.0.0.1:6170", .nnodes = "2"}));
    EXPECT_FALSE(uses({.ips = "node1,node2"}));
    EXPECT_FALSE(uses({.hostfile = "hosts"}));
    EXPECT_TRUE(uses({.servers = "node1:6170", .workers = "node1:6171,node2:6170"}));
    EXPECT_TRUE(uses({.servers = "node1", .workers = "node2", .heter_workers = "node1;node2"}));
    EXPECT_FALSE(uses({.servers = "node1:6170", .workers = "10.0.0.2:6171"}));
}

}  // namespace
}  // namespace dtrain::launch
