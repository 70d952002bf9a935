// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the events that were written; the size up to which Slurm forwards a line as a whole, which
// tests/cluster/jobs/test_srun_lines.py measures.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/checked_line.hpp"
#include "protocol/event_lines.hpp"

namespace dtrain::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAreArray;

/// @param seed of its letters
Event with_state(int rank, std::size_t size, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::string letters(size - 8, ' ');
    for (char& letter : letters) letter = static_cast<char>('a' + random() % 26);
    return {.kind = Event::Kind::state,
            .rank = rank,
            .host = "n",
            .state = fmt::format(R"({{"a":"{}"}})", letters)};
}

Event short_one(int rank) {
    return {.kind = Event::Kind::stacks_end, .rank = rank, .host = "n", .text = "file"};
}

class EventLines : public testing::Test {
  protected:
    void read(std::string line) {
        EXPECT_EQ(line.find('\n'), line.size() - 1);
        line.pop_back();
        if (auto event = reader_.take(line)) events_.push_back(std::move(*event));
    }

    void read_all(const Event& event) {
        for (const auto& line : lines_of(event)) read(line);
    }

    std::vector<Event> events_;

  private:
    EventReader reader_;
};

TEST_F(EventLines, AShortEventIsItsLine) {
    EXPECT_THAT(lines_of(short_one(3)), ElementsAre(encode(short_one(3)) + "\n"));
    read_all(short_one(3));
    EXPECT_THAT(events_, ElementsAre(short_one(3)));
}

TEST_F(EventLines, NoLineIsLongerThanWhatIsForwardedAsAWhole) {
    for (std::size_t size = 10; size <= max_event_state; ++size) {
        const auto event = with_state(-12345678, size);
        events_.clear();
        for (const auto& line : lines_of(event)) {
            ASSERT_LE(line.size(), max_whole_line) << size;
            ASSERT_EQ(line.rfind(event_marker), 0U) << size;
            read(line);
        }
        ASSERT_THAT(events_, ElementsAre(event)) << size;
    }
}

TEST_F(EventLines, OfManyRanksMayComeBetweenEachOther) {
    std::mt19937 random(20261129);
    for (int round = 0; round < 100; ++round) {
        std::vector<std::vector<std::string>> left;
        std::vector<Event> expected;
        for (int rank = 0; rank < 20; ++rank) {
            auto& lines = left.emplace_back();
            for (const auto& event : {with_state(rank, 10 + random() % 3000, random()), short_one(rank)}) {
                expected.push_back(event);
                std::ranges::copy(lines_of(event), std::back_inserter(lines));
            }
        }
        events_.clear();
        while (!left.empty()) {
            const auto rank = left.begin() + static_cast<std::ptrdiff_t>(random() % left.size());
            read(rank->front());
            rank->erase(rank->begin());
            if (rank->empty()) left.erase(rank);
        }
        ASSERT_THAT(events_, UnorderedElementsAreArray(expected));
    }
}

TEST_F(EventLines, ALostPartLosesItsEventOnly) {
    const auto lines = lines_of(with_state(1, 3000));
    ASSERT_THAT(lines, SizeIs(4));
    for (std::size_t lost = 0; lost < lines.size(); ++lost) {
        events_.clear();
        for (std::size_t each = 0; each < lines.size(); ++each)
            if (each != lost) read(lines[each]);
        EXPECT_THAT(events_, IsEmpty());
        read_all(with_state(1, 2500, 2));
        EXPECT_THAT(events_, ElementsAre(with_state(1, 2500, 2))) << lost;
    }
}

TEST_F(EventLines, PartsOfTwoEventsMakeNone) {
    const auto first = lines_of(with_state(1, 3000));
    const auto second = lines_of(with_state(1, 3000, 2));
    for (std::size_t cut = 1; cut < first.size(); ++cut) {
        for (std::size_t each = 0; each < first.size(); ++each) read(each < cut ? first[each] : second[each]);
        EXPECT_THAT(events_, IsEmpty()) << cut;
    }
}

TEST_F(EventLines, NumbersThatAreNoneMakeNoEvent) {
    for (const auto* content :
         {"1", "1 00000000", "1 00000000 0", "1 00000000 0 0", "1 00000000 0 1 ", "1 00000000 -1 1 x",
          "1 00000000 99 1 x", "x 00000000 0 1 x", "1 00000000 0 1 {\"kind\":\"done\"}"})
        read(checked_line(content) + "\n");
    EXPECT_THAT(events_, IsEmpty());
}

}  // namespace
}  // namespace dtrain::cluster
