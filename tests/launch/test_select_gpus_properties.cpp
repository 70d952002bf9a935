// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any --gpus, checked on seeded inputs.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "launch/plan.hpp"
#include "support/fuzz.hpp"

namespace dtrain::launch {
namespace {

using tests::Mutator;
using topology::VisibleGpu;

TEST(SelectGpusProperties, AnyListIsRefusedInWordsOrSelectsVisibleDevicesOnce) {
    const tests::Corpus corpus{
        .examples = {"0,1,2,3", "3,1", " 1 , 2 ", "GPU-5f3c,2", "MIG-a1,MIG-b2"},
        .pieces = {"0", "1", "5", ",", "-1", " ", "GPU-5f3c", "GPU-", "MIG-a1", "MIG-b2"}};
    const std::vector<std::vector<VisibleGpu>> kinds{{},
                                                     {{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}},
                                                     {{"GPU-5f3c", 5}, {"GPU-2f3c", 2}, {"1", 1}},
                                                     {{"MIG-a1", 0}, {"MIG-b2", 0}, {"3", 3}},
                                                     {{"0", std::nullopt}, {"GPU-77", std::nullopt}}};
    tests::for_all(corpus, &Mutator::text, [&](const std::string& gpus) {
        for (const auto& visible : kinds) {
            try {
                const auto selected = select_gpus(gpus, visible);
                EXPECT_FALSE(selected.empty());
                std::vector<std::string> ids;
                for (const auto& device : selected) {
                    EXPECT_NE(std::find(visible.begin(), visible.end(), device), visible.end());
                    ids.push_back(device.id);
                }
                EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size());
                EXPECT_EQ(select_gpus(join(ids, ","), visible), selected);
            } catch (const UsageError& error) {
                EXPECT_TRUE(tests::is_helpful(error.what(), {"--gpus " + gpus}));
            }
        }
    });
}

}  // namespace
}  // namespace dtrain::launch
