// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any placement on any machine, checked on some hundreds of random machines (fixed
// seeds, so that a failure repeats): sub-NUMA clusters, SMT, GPUs and adapters anywhere, processors taken at
// random.
#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "topology/fixture.hpp"

namespace dtrain::topology {
namespace {

using Ranks = std::vector<std::vector<int>>;

class Dice {
  public:
    explicit Dice(unsigned seed) : engine_(seed) {}
    // Not std::uniform_int_distribution: its results differ between libraries.
    int roll(int min, int max) {
        return min + static_cast<int>(engine_() % static_cast<unsigned>(max - min + 1));
    }

  private:
    std::mt19937 engine_;
};

Machine random_machine(Dice& dice) {
    const int packages = dice.roll(1, 3), clusters = dice.roll(1, 3), cores = dice.roll(1, 5),
              smt = dice.roll(1, 3);
    MachineFixture fixture(
        fmt::format("pack:{} group:{} [numa] core:{} pu:{}", packages, clusters, cores, smt));
    const int devices = dice.roll(0, 7);
    for (int i = 0; i < devices; ++i) {
        const int where = dice.roll(0, 9);
        const bool adapter = dice.roll(0, 3) == 0;
        PciDevice device{.address = fmt::format("0000:{:02x}:00.0", (i * 37 + 11) % 256)};
        if (adapter) {
            device.type = infiniband_class;
            device.os_devices = {{fmt::format("mlx5_{}", i), 3}};
        }
        if (where == 0)
            fixture.add("Machine", 0, device);
        else if (where < 5 || clusters == 1 || cores == 1)  // hwloc drops groups that add nothing
            fixture.add("Package", dice.roll(0, packages - 1), device);
        else
            fixture.add("Group", dice.roll(0, packages * clusters - 1), device);
    }
    CpuSet allowed;
    const int total = packages * clusters * cores * smt;
    const int taken_in_ten = dice.roll(0, 2) == 0 ? dice.roll(1, 8) : 0;
    for (int cpu = 0; cpu < total; ++cpu)
        if (dice.roll(0, 9) >= taken_in_ten) allowed.add(cpu);
    if (allowed.empty()) allowed.add(dice.roll(0, total - 1));
    return fixture.allow(allowed).machine();
}

Ranks random_ranks(Dice& dice, const Machine& machine) {
    const int count = dice.roll(1, std::min(40, 2 * machine.allowed.count() + 2));
    const auto gpus = static_cast<int>(machine.gpus.size());
    const int style = gpus == 0 ? 0 : dice.roll(0, 3);  // 0 CPU, 1 a GPU each, 2 several each, 3 mixed
    Ranks ranks(static_cast<std::size_t>(count));
    for (auto& rank : ranks) {
        const int own = style == 1 ? 1 : style == 2 ? dice.roll(1, gpus) : style == 3 ? dice.roll(0, 2) : 0;
        for (int i = 0; i < std::min(own, gpus); ++i) {
            const int gpu = dice.roll(0, gpus - 1);
            if (std::find(rank.begin(), rank.end(), gpu) == rank.end()) rank.push_back(gpu);
        }
    }
    return ranks;
}

CpuSet near_gpus(const Machine& machine, const std::vector<int>& gpus) {
    CpuSet near;
    for (const int gpu : gpus) near = near | machine.gpus[static_cast<std::size_t>(gpu)].local_cpus;
    return near;
}

int cores_touched(const Machine& machine, const CpuSet& cpus) {
    return static_cast<int>(std::count_if(machine.cores.begin(), machine.cores.end(),
                                          [&](const Core& core) { return core.cpus.intersects(cpus); }));
}

class RandomMachines : public ::testing::TestWithParam<unsigned> {
  protected:
    RandomMachines() : dice_(GetParam()), machine_(random_machine(dice_)) {}

    std::string story(const Ranks& ranks, const std::vector<Placement>& placed) const {
        std::string text = fmt::format("allowed {}; {} cores; GPUs near", machine_.allowed.to_string(),
                                       machine_.cores.size());
        for (const auto& gpu : machine_.gpus) text += fmt::format(" [{}]", gpu.local_cpus.to_string());
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            text += "\n  GPUs";
            for (const int gpu : ranks[i]) text += fmt::format(" {}", gpu);
            text += fmt::format(" -> {} {}", placed[i].cpus.to_string(), placed[i].reason);
        }
        return text;
    }

    Dice dice_;
    Machine machine_;
};

TEST_P(RandomMachines, MasksAreAllowedAndDisjointUnlessShared) {
    for (int round = 0; round < 5; ++round) {
        const Ranks ranks = random_ranks(dice_, machine_);
        const auto placed = place(machine_, ranks);
        SCOPED_TRACE(story(ranks, placed));
        ASSERT_EQ(placed.size(), ranks.size());
        for (std::size_t i = 0; i < placed.size(); ++i) {
            EXPECT_FALSE(placed[i].cpus.empty());
            EXPECT_TRUE(placed[i].cpus.is_subset_of(machine_.allowed));
            EXPECT_EQ(placed[i].gpus, ranks[i]);
            bool meets = false;
            for (std::size_t j = 0; j < placed.size(); ++j)
                meets = meets || (i != j && placed[i].cpus.intersects(placed[j].cpus));
            EXPECT_EQ(placed[i].shared, meets) << "rank " << i;
        }
        EXPECT_EQ(place(machine_, ranks), placed);
    }
}

TEST_P(RandomMachines, GpuRanksStayNearTheirGpus) {
    for (int round = 0; round < 5; ++round) {
        const Ranks ranks = random_ranks(dice_, machine_);
        const auto placed = place(machine_, ranks);
        SCOPED_TRACE(story(ranks, placed));
        for (std::size_t i = 0; i < placed.size(); ++i) {
            const CpuSet near = near_gpus(machine_, ranks[i]);
            EXPECT_TRUE(near.empty() || placed[i].cpus.is_subset_of(near)) << "rank " << i;
        }
    }
}

TEST_P(RandomMachines, RanksOfOneLocalityShareItEvenly) {
    if (machine_.gpus.empty()) return;
    const CpuSet near = near_gpus(machine_, {0});
    const CpuSet domain = near.empty() ? machine_.allowed : near;
    const int cores = cores_touched(machine_, domain);
    for (int count = 1; count <= domain.count() + 2; ++count) {
        const Ranks ranks(static_cast<std::size_t>(count), std::vector<int>{0});
        const auto placed = place(machine_, ranks);
        SCOPED_TRACE(story(ranks, placed));
        CpuSet all;
        int min = 1 << 30, max = 0;
        for (const auto& rank : placed) {
            all = all | rank.cpus;
            const int size = count <= cores ? cores_touched(machine_, rank.cpus) : rank.cpus.count();
            min = std::min(min, size);
            max = std::max(max, size);
        }
        EXPECT_EQ(all, domain);
        EXPECT_LE(max - min, 1);
        EXPECT_EQ(placed[0].shared, count > domain.count());
    }
}

TEST_P(RandomMachines, CpuRanksGetWholeCoresOfOneMemoryNodeOrWholeNodes) {
    std::vector<int> nodes;
    for (const auto& core : machine_.cores)
        if (std::find(nodes.begin(), nodes.end(), core.numa) == nodes.end()) nodes.push_back(core.numa);
    for (std::size_t count = 1; count <= machine_.cores.size(); ++count) {
        const Ranks ranks(count);
        const auto placed = place(machine_, ranks);
        SCOPED_TRACE(story(ranks, placed));
        for (const auto& rank : placed) {
            EXPECT_FALSE(rank.shared);
            EXPECT_EQ(rank.threads, cores_touched(machine_, rank.cpus));
            for (const auto& core : machine_.cores) {
                if (!core.cpus.intersects(rank.cpus)) continue;
                EXPECT_TRUE(core.cpus.is_subset_of(rank.cpus));
            }
            if (count >= nodes.size()) {
                EXPECT_EQ(rank.numa_nodes.size(), 1U);
                continue;
            }
            for (const auto& core : machine_.cores) {
                const auto& whole = rank.numa_nodes;
                const bool in_node = std::find(whole.begin(), whole.end(), core.numa) != whole.end();
                EXPECT_EQ(in_node, core.cpus.is_subset_of(rank.cpus));
            }
        }
    }
}

TEST_P(RandomMachines, ThreadsOversubscribeNoCore) {
    for (int round = 0; round < 5; ++round) {
        const Ranks ranks = random_ranks(dice_, machine_);
        const auto placed = place(machine_, ranks);
        SCOPED_TRACE(story(ranks, placed));
        for (const auto& rank : placed) {
            EXPECT_GE(rank.threads, 1);
            EXPECT_LE(rank.threads, cores_touched(machine_, rank.cpus));
        }
        // With more ranks than cores each has one thread all the same.
        int total = 0;
        for (const auto& rank : placed)
            if (rank.threads > 1) total += rank.threads;
        EXPECT_LE(total, static_cast<int>(machine_.cores.size()));
    }
}

TEST_P(RandomMachines, RestrictingComesToTheSameAsACgroup) {
    CpuSet part;
    for (const int cpu : machine_.allowed.members())
        if (dice_.roll(0, 1) == 0) part.add(cpu);
    if (part.empty()) return;
    const Machine less = restricted(machine_, part);
    const Ranks ranks = random_ranks(dice_, less);
    for (const auto& rank : place(less, ranks)) EXPECT_TRUE(rank.cpus.is_subset_of(part));
}

TEST_P(RandomMachines, EveryRankHasAnAdapterWhereThereIsOne) {
    const Ranks ranks = random_ranks(dice_, machine_);
    for (const auto& rank : place(machine_, ranks)) {
        EXPECT_EQ(rank.adapter.empty(), machine_.adapters.empty());
        if (rank.adapter.empty()) continue;
        EXPECT_TRUE(std::any_of(machine_.adapters.begin(), machine_.adapters.end(),
                                [&](const NetworkAdapter& adapter) { return adapter.name == rank.adapter; }));
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMachines, ::testing::Range(0U, 150U));

}  // namespace
}  // namespace dtrain::topology
