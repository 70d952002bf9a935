// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: ranks of a job have the same ports as long as one of them is there; these are free where the usual
// ones are taken; nothing is left of a job.
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ports.hpp"
#include "base/signal_free_thread.hpp"
#include "identity/endpoints.hpp"
#include "support/temporary_folder.hpp"
#include "worker/agreed_port.hpp"

namespace dtrain::worker {
namespace {

namespace fs = std::filesystem;

constexpr int ports = 4;

/// A job whose usual ports are free now.
std::string some_job() {
    for (int number = 0;; ++number) {
        auto job = "job-" + std::to_string(::getpid()) + "@" + std::to_string(number);
        try {
            const int first = cluster::base_port(job, ports);
            const auto held = HeldPorts::exactly({first, first + 1, first + 2, first + 3});
            return job;
        } catch (const PortTaken&) {
        }
    }
}

TEST(AgreedPort, IsTheUsualOneWhereThatIsFree) {
    const tests::TemporaryFolder folder;
    const auto job = some_job();
    {
        const AgreedPort port(folder.path(), job, ports);
        EXPECT_EQ(port.first(), cluster::base_port(job, ports));
        EXPECT_FALSE(fs::is_empty(folder.path()));
    }
    EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(AgreedPort, IsAnotherForAllRanksWhereOneIsTaken) {
    const tests::TemporaryFolder folder;
    const auto job = some_job();
    const int usual = cluster::base_port(job, ports);
    auto of_another_program = std::make_optional(HeldPorts::exactly({usual + ports - 1}));
    std::optional<AgreedPort> first(std::in_place, folder.path(), job, ports);
    const int chosen = first->first();
    EXPECT_NE(chosen, usual);
    EXPECT_NO_THROW((void)HeldPorts::exactly({chosen, chosen + 1, chosen + 2, chosen + 3}));

    of_another_program.reset();
    const AgreedPort second(folder.path(), job, ports);
    EXPECT_EQ(second.first(), chosen) << "the usual ones are free again, but the first rank has others";
    first.reset();
    const AgreedPort third(folder.path(), job, ports);
    EXPECT_EQ(third.first(), chosen);
}

TEST(AgreedPort, IsNotThatOfAKilledJobWithTheSameNumber) {
    const tests::TemporaryFolder folder;
    const auto job = some_job();
    std::optional<AgreedPort> port(std::in_place, folder.path(), job, ports);
    const fs::path file = fs::directory_iterator(folder.path())->path();
    port.reset();
    const int foreign = 1;
    std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(&foreign), sizeof foreign);
    EXPECT_EQ(AgreedPort(folder.path(), job, ports).first(), cluster::base_port(job, ports));
}

TEST(AgreedPort, IsOneAlsoWhenAllRanksComeAtOnce) {
    const tests::TemporaryFolder folder;
    const auto job = some_job();
    const auto taken = HeldPorts::exactly({cluster::base_port(job, ports)});
    std::vector<int> of_ranks(8);
    std::vector<std::unique_ptr<AgreedPort>> held(of_ranks.size());
    {
        std::vector<std::jthread> ranks;
        for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
            ranks.push_back(signal_free_thread<std::jthread>([&, rank] {
                held[rank] = std::make_unique<AgreedPort>(folder.path(), job, ports);
                of_ranks[rank] = held[rank]->first();
            }));
    }
    EXPECT_EQ(std::set(of_ranks.begin(), of_ranks.end()).size(), 1U) << testing::PrintToString(of_ranks);
    held.clear();
    EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(AgreedPort, IsTheUsualOneWhereNoFileCanBe) {
    EXPECT_EQ(AgreedPort("/nonexistent", "job", ports).first(), cluster::base_port("job", ports));
}

}  // namespace
}  // namespace dtrain::worker
