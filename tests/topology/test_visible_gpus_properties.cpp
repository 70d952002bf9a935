// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any value of CUDA_VISIBLE_DEVICES on machines of several kinds, checked on seeded
// inputs.
#include <set>

#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/topology.hpp>

#include "base/text.hpp"
#include "support/fuzz.hpp"

namespace dtrain::topology {
namespace {

using tests::Mutator;

const tests::Corpus lists{
    .examples = {"0,1,2,3", "3,1", "0,-1,1", "GPU-8932f937-d72c", "GPU-8932,GPU-1aa", " 1 , 2 ",
                 "MIG-a1b2c3,MIG-a1b2d4", "MIG-GPU-8932f937-d72c/1/0", "", "NoDevFiles"},
    .pieces = {"0", "1", ",", "-1", " ", "GPU-", "GPU-8932", "MIG-", "MIG-a1b2", "MIG-GPU-8932", "/1/0", "c3",
               "f937"}};

Machine machine_with(std::vector<Gpu> gpus) {
    Machine machine;
    for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].index = static_cast<int>(i);
    machine.gpus = std::move(gpus);
    return machine;
}

const std::vector<Machine> machines{
    machine_with({}), machine_with({{}, {}, {}}),
    machine_with({{.uuid = "GPU-8932f937-d72c"}, {.uuid = "GPU-8932aaaa-0000"}, {.uuid = "GPU-1aa"}, {}}),
    machine_with(
        {{.uuid = "GPU-8932f937-d72c", .mig_uuids = {"MIG-a1b2c3", "MIG-a1b2d4"}}, {.uuid = "GPU-77"}})};

TEST(VisibleGpusProperties, AnyValueIsRefusedInWordsOrNamesEachDeviceOnce) {
    tests::for_all(lists, &Mutator::text, [](const std::string& value) {
        for (const auto& machine : machines) {
            try {
                const auto visible = visible_gpus(machine, value);
                std::vector<std::string> ids;
                for (const auto& [id, index] : visible) {
                    ids.push_back(id);
                    if (machine.gpus.empty()) {
                        EXPECT_EQ(index, std::nullopt);
                    }
                    if (index) {
                        EXPECT_GE(*index, 0);
                        EXPECT_LT(*index, static_cast<int>(machine.gpus.size()));
                    }
                }
                EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size());
                EXPECT_EQ(visible_gpus(machine, join(ids, ",")), visible);
            } catch (const UsageError& error) {
                EXPECT_TRUE(tests::is_helpful(error.what(), {"CUDA_VISIBLE_DEVICES"}));
            }
        }
    });
}

}  // namespace
}  // namespace dtrain::topology
