// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: variables that tasks of Slurm 22.05 had, and hexadecimal numbers worked out by hand.
#include <gtest/gtest.h>

#include "identity/slurm_binding.hpp"

namespace dtrain::cluster {
namespace {

std::optional<CpuSet> bound(const char* type, const char* list) {
    return slurm_bound_cpus({{"SLURM_CPU_BIND_TYPE", type}, {"SLURM_CPU_BIND_LIST", list}});
}

TEST(SlurmBoundCpus, OfAllTasksOfTheNode) {
    EXPECT_EQ(bound("mask_cpu:", "0x1,0x2"), CpuSet::parse("0-1"));
    EXPECT_EQ(bound("cores,mask_cpu:", "0x000000000000000000F0,0xA00000000000000000000"),
              CpuSet::parse("4-7,81,83"));
    EXPECT_EQ(bound("map_cpu:", "0,12,0x10"), CpuSet::parse("0,12,16"));
}

TEST(SlurmBoundCpus, NothingWhenTasksAreNotBound) {
    EXPECT_EQ(slurm_bound_cpus({}), std::nullopt);
    EXPECT_EQ(bound("none", ""), std::nullopt);
    EXPECT_EQ(bound("ldoms", ""), std::nullopt);
    EXPECT_EQ(bound("mask_cpu:", ""), std::nullopt);
    EXPECT_EQ(bound("mask_cpu:", "0x1,zz"), std::nullopt);
    EXPECT_EQ(bound("map_cpu:", "-1"), std::nullopt);
}

}  // namespace
}  // namespace dtrain::cluster
