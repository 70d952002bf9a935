// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: NVIDIA's CUDA C++ Programming Guide, "CUDA Environment Variables", CUDA_VISIBLE_DEVICES: indices,
// UUIDs by unique prefix, MIG-<uuid> and the older MIG-<GPU uuid>/<GPU instance>/<compute instance>; the list
// ends at the first entry that is no device. Worked out by hand for a machine of four GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>
#include <dtrain/topology.hpp>

namespace dtrain::topology {
namespace {

using ::testing::HasSubstr;
using List = std::vector<VisibleGpu>;

Machine machine_of(const std::vector<std::string>& uuids) {
    Machine machine;
    for (std::size_t i = 0; i < uuids.size(); ++i) {
        Gpu gpu;
        gpu.index = static_cast<int>(i);
        gpu.uuid = uuids[i];
        machine.gpus.push_back(gpu);
    }
    return machine;
}

Machine four_gpus() {
    Machine machine =
        machine_of({"GPU-8932f937-d72c", "GPU-8932aaaa-0000", "GPU-15c2ff01-1111", "GPU-0a0a0a0a-2222"});
    machine.gpus[3].mig_uuids = {"MIG-6c8e3c11-aa", "MIG-6c8e9999-bb"};
    return machine;
}

struct Case {
    const char* name;
    std::optional<std::string> variable;
    List expected;
};

class VisibleGpus : public ::testing::TestWithParam<Case> {};

TEST_P(VisibleGpus, OnFourGpus) {
    EXPECT_EQ(visible_gpus(four_gpus(), GetParam().variable), GetParam().expected);
}

const std::vector<Case> cases = {
    {"Unset", std::nullopt, {{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}}},
    {"Empty", "", {}},
    {"OneIndex", "2", {{"2", 2}}},
    {"OrderIsKept", "3,1,0", {{"3", 3}, {"1", 1}, {"0", 0}}},
    {"Blanks", " 1 , 0 ", {{"1", 1}, {"0", 0}}},
    {"MinusOneEnds", "0,-1,1", {{"0", 0}}},
    {"MinusOneFirst", "-1", {}},
    {"IndexOutOfRangeEnds", "1,9,0", {{"1", 1}}},
    {"EmptyEntryEnds", "0,,1", {{"0", 0}}},
    {"NoNumberEnds", "0,x,1", {{"0", 0}}},
    {"NumberWithTailEnds", "0,1a,1", {{"0", 0}}},
    {"NoDevFiles", "NoDevFiles", {}},
    {"RepeatedAfterTheEnd", "0,-1,0", {{"0", 0}}},
    {"WholeUuid", "GPU-15c2ff01-1111", {{"GPU-15c2ff01-1111", 2}}},
    {"UuidPrefix", "GPU-0a,GPU-8932f", {{"GPU-0a", 3}, {"GPU-8932f", 0}}},
    {"UnknownUuidEnds", "1,GPU-ffff,0", {{"1", 1}}},
    {"IndexAndUuid", "0,GPU-15", {{"0", 0}, {"GPU-15", 2}}},
    {"Mig", "MIG-6c8e3c11-aa", {{"MIG-6c8e3c11-aa", 3}}},
    {"TwoMigsOfAGpu", "MIG-6c8e3,MIG-6c8e9", {{"MIG-6c8e3", 3}, {"MIG-6c8e9", 3}}},
    {"UnknownMigEnds", "0,MIG-77,1", {{"0", 0}}},
    {"OldMig", "MIG-GPU-15c2ff01-1111/3/0", {{"MIG-GPU-15c2ff01-1111/3/0", 2}}},
    {"OldMigs",
     "MIG-GPU-15c2ff01-1111/3/0,MIG-GPU-15c2ff01-1111/4/0",
     {{"MIG-GPU-15c2ff01-1111/3/0", 2}, {"MIG-GPU-15c2ff01-1111/4/0", 2}}},
    {"OldMigOfUnknownGpuEnds", "MIG-GPU-ffff/3/0,1", {}},
};

INSTANTIATE_TEST_SUITE_P(Table, VisibleGpus, ::testing::ValuesIn(cases),
                         [](const auto& one) { return one.param.name; });

void expect_refusal(const Machine& machine, const std::string& value, const std::string& named) {
    try {
        visible_gpus(machine, value);
        ADD_FAILURE() << value << " was accepted";
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr(named));
        EXPECT_THAT(error.what(), HasSubstr("CUDA_VISIBLE_DEVICES"));
    }
}

TEST(VisibleGpusRefused, RepeatedOrAmbiguousEntries) {
    expect_refusal(four_gpus(), "0,1,0", "\"0\"");
    expect_refusal(four_gpus(), "2,GPU-15", "\"GPU-15\"");
    expect_refusal(four_gpus(), "GPU-8932", "GPU-8932aaaa-0000");
    expect_refusal(four_gpus(), "MIG-6c8e", "MIG-6c8e9999-bb");
    expect_refusal(four_gpus(), "MIG-6c8e3,MIG-6c8e3", "\"MIG-6c8e3\"");
    expect_refusal(Machine{}, "4,4", "\"4\"");
}

TEST(VisibleGpusUnknown, EntriesThatTheDescriptionCannotNameAreKept) {
    EXPECT_EQ(visible_gpus(Machine{}, std::nullopt), List{});
    EXPECT_EQ(visible_gpus(Machine{}, "0,7,-1,2"), (List{{"0", std::nullopt}, {"7", std::nullopt}}));
    EXPECT_EQ(visible_gpus(Machine{}, "GPU-1,MIG-2,x"),
              (List{{"GPU-1", std::nullopt}, {"MIG-2", std::nullopt}}));
    const Machine nameless = machine_of({"", "GPU-12"});
    EXPECT_EQ(visible_gpus(nameless, "GPU-77,GPU-12,MIG-9"),
              (List{{"GPU-77", std::nullopt}, {"GPU-12", 1}, {"MIG-9", std::nullopt}}));
    EXPECT_EQ(visible_gpus(nameless, "0,2"), (List{{"0", 0}}));
}

}  // namespace
}  // namespace dtrain::topology
