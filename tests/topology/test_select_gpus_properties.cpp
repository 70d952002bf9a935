// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any --gpus, checked on seeded inputs.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "support/fuzz.hpp"
#include "topology/select_gpus.hpp"

namespace dtrain::topology {
namespace {

using tests::Mutator;

TEST(SelectGpusProperties, AnyListIsRefusedInWordsOrSelectsVisibleDevicesOnce) {
    const tests::Corpus corpus{
        .examples = {"0,1,2,3", "3,1", " 1 , 2 ", "GPU-5f3c,2", "MIG-a1,MIG-b2", "all", "GPU-5f,GPU-2f"},
        .pieces = {"0", "1", "5", ",", "-1", " ", "GPU-5f3c", "GPU-", "GPU-0", "all", "MIG-a1", "MIG-b2"}};
    const std::vector<std::vector<VisibleGpu>> kinds{{},
                                                     {{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}},
                                                     {{"GPU-5f3c", 5}, {"GPU-2f3c", 2}, {"1", 1}},
                                                     {{"MIG-a1", 0}, {"MIG-b2", 0}, {"3", 3}},
                                                     {{"0", std::nullopt}, {"GPU-77", std::nullopt}}};
    Machine machine;
    for (const char* uuid : {"GPU-00aa", "GPU-11bb", "GPU-2f3c", "GPU-00cc", "GPU-44dd", "GPU-5f3c"})
        machine.gpus.push_back({.index = static_cast<int>(machine.gpus.size()), .uuid = uuid});
    tests::for_all(corpus, &Mutator::text, [&](const std::string& gpus) {
        for (const auto& visible : kinds) {
            try {
                const auto selected = select_gpus(gpus, visible, machine);
                EXPECT_EQ(selected.empty(), visible.empty());
                std::vector<std::string> ids;
                for (const auto& device : selected) {
                    EXPECT_NE(std::find(visible.begin(), visible.end(), device), visible.end());
                    ids.push_back(device.id);
                }
                EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size());
                if (!ids.empty()) {
                    EXPECT_EQ(select_gpus(join(ids, ","), visible, machine), selected);
                }
            } catch (const UsageError& error) {
                EXPECT_TRUE(tests::is_helpful(error.what(), {"--gpus " + gpus}));
            }
        }
    });
}

}  // namespace
}  // namespace dtrain::topology
