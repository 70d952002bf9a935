// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what a plain loop over the pieces does, and the kernel's clock of this process.
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/work_team.hpp"

namespace dtrain {
namespace {

class WorkTeamTest : public testing::TestWithParam<int> {
  protected:
    WorkTeam team_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Threads, WorkTeamTest, testing::Values(1, 2, 3, 8));

TEST_P(WorkTeamTest, DoesEachPieceOnce) {
    EXPECT_EQ(team_.threads(), GetParam());
    for (const std::size_t pieces : {0, 1, 2, 3, 7, 1000}) {
        std::vector<int> times(pieces);  // no atomics: a piece is one thread's alone
        team_.run(pieces, [&](std::size_t piece) { ++times[piece]; });
        EXPECT_EQ(times, std::vector<int>(pieces, 1)) << pieces;
    }
}

// What pieces write is there for the caller, and what it writes for the next ones.
TEST_P(WorkTeamTest, HandsOverManyTimes) {
    constexpr std::size_t pieces = 5;
    constexpr std::size_t runs = 20'000;
    std::vector<std::size_t> values(pieces, 1);
    std::size_t expected = 1;
    std::size_t factor = 0;
    for (std::size_t i = 0; i < runs; ++i) {
        factor = i % 7;
        team_.run(pieces, [&](std::size_t piece) { values[piece] = values[piece] * factor + 1; });
        expected = expected * factor + 1;
        ASSERT_EQ(values, std::vector<std::size_t>(pieces, expected)) << i;
    }
}

// Helpers sleep in some of the pauses and are awake in others.
TEST_P(WorkTeamTest, HandsOverAfterPauses) {
    for (int pause = 0; pause < 300; pause += 3) {
        std::atomic<int> done = 0;
        team_.run(16, [&](std::size_t) { ++done; });
        ASSERT_EQ(done, 16);
        std::this_thread::sleep_for(std::chrono::microseconds(pause));
    }
}

TEST_P(WorkTeamTest, ThrowsWhatTheFirstFailedPieceThrewAndDoesTheOthers) {
    for (int i = 0; i < 200; ++i) {
        std::vector<int> times(20);
        const auto fails = [&](std::size_t piece) {
            ++times[piece];
            if (piece % 6 == 5) throw std::runtime_error("piece " + std::to_string(piece));
        };
        try {
            team_.run(times.size(), fails);
            FAIL() << "nothing came out";
        } catch (const std::runtime_error& failed) {
            EXPECT_STREQ(failed.what(), "piece 5");
        }
        EXPECT_EQ(times, std::vector<int>(20, 1));
    }
    int done = 0;
    team_.run(1, [&](std::size_t) { ++done; });
    EXPECT_EQ(done, 1);
}

TEST_P(WorkTeamTest, TakesNoProcessorWithoutWork) {
    const auto processor_seconds = [] {
        timespec now{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    };
    team_.run(100, [](std::size_t) {});
    const auto before = processor_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_LT(processor_seconds() - before, 0.03 * 0.5);
}

TEST(WorkTeam, UsesSeveralThreads) {
    WorkTeam team(3);
    std::atomic<int> arrived = 0;
    // Each piece waits for the two others.
    team.run(3, [&](std::size_t) {
        ++arrived;
        while (arrived < 3) std::this_thread::yield();
    });
    EXPECT_EQ(arrived, 3);
}

TEST(WorkTeam, OfOneIsTheCallerAlone) {
    WorkTeam team(1);
    std::vector<std::size_t> order;
    const auto caller = std::this_thread::get_id();
    team.run(4, [&](std::size_t piece) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        order.push_back(piece);
    });
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(WorkTeam, NeedsAThread) {
    EXPECT_THROW(WorkTeam(0), UsageError);
    EXPECT_THROW(WorkTeam(-3), UsageError);
}

TEST(WorkTeam, ComesAndGoes) {
    const auto threads = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                             std::filesystem::directory_iterator());
    };
    const auto before = threads();
    std::vector<int> times(2);
    for (int i = 0; i < 300; ++i) {
        WorkTeam team(4);
        if (i % 2 == 0) team.run(2, [&](std::size_t piece) { ++times[piece]; });
    }
    EXPECT_EQ(times, std::vector<int>(2, 150));
    // The kernel forgets a thread a moment after it was waited for.
    for (int i = 0; i < 1000 && threads() > before; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_LE(threads(), before);
}

}  // namespace
}  // namespace dtrain
