// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what srun of Slurm 22.05 with PMIx 4.2.2 sets, as seen in a step; PMIx' own words for its stores.
#include <string>

#include <gtest/gtest.h>

#include "protocol/pmix_store.hpp"

namespace dtrain::cluster {
namespace {

std::string store_of(Environment environment) {
    choose_pmix_store(environment);
    return environment.get_or("PMIX_MCA_gds", "");
}

TEST(PmixStore, RanksOfSrunAskTheServer) {
    EXPECT_EQ(store_of({{"PMIX_NAMESPACE", "slurm.pmix.1.0"}, {"PMIX_GDS_MODULE", "ds21,ds12,hash"}}),
              "hash");
    EXPECT_EQ(store_of({{"PMIX_NAMESPACE", "slurm.pmix.1.0"}, {"PMIX_GDS_MODULE", "ds12,hash"}}), "hash");
}

TEST(PmixStore, OthersAreLeftAlone) {
    EXPECT_EQ(store_of({{"PMIX_NAMESPACE", "1543241729"}, {"PMIX_GDS_MODULE", "ds21,ds12,hash"}}), "")
        << "mpirun";
    EXPECT_EQ(store_of({{"PMIX_NAMESPACE", "slurm.pmix.1.0"}, {"PMIX_GDS_MODULE", "shmem2,hash"}}), "")
        << "PMIx 5";
    EXPECT_EQ(store_of({{"PMIX_NAMESPACE", "slurm.pmix.1.0"}, {"PMIX_GDS_MODULE", "ds21"}}), "");
    EXPECT_EQ(store_of({{"PMIX_NAMESPACE", "slurm.pmix.1.0"}}), "");
    EXPECT_EQ(store_of({}), "");
}

TEST(PmixStore, TheUsersChoiceStays) {
    EXPECT_EQ(store_of({{"PMIX_NAMESPACE", "slurm.pmix.1.0"},
                        {"PMIX_GDS_MODULE", "ds21,ds12,hash"},
                        {"PMIX_MCA_gds", "ds21"}}),
              "ds21");
}

}  // namespace
}  // namespace dtrain::cluster
