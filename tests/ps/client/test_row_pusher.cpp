// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what arrives at servers that the test plays: each id once in a step, the sums of its gradients
// added by hand, in messages of as many rows as are allowed.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/client/channel_test.hpp"
#include "ps/client/row_pusher.hpp"
#include "ps/client/row_sums.hpp"
#include "ps/table/id_hash.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::int64_t>;
using Values = std::vector<float>;

class RowPushes : public ChannelTest {
  protected:
    RowPusher& start_pushing(ServerMode mode, int servers, std::size_t message_rows = 0,
                             bool has_statistics = false) {
        auto& channel = start(mode, servers);
        shapes_.emplace(std::vector<std::size_t>{1, 1}, std::vector<bool>{has_statistics}, message_rows);
        recent_.emplace(2);
        messages_.emplace(channel, *clock_);
        return pusher_.emplace(*shapes_, *clock_, *recent_, servers, *messages_);
    }

    void end_step() {
        pusher_->finish_step();
        messages_->send_ends(1);
        clock_->end_sent_step();
    }

    /// The next message of a server: its sections as "TABLE:IDS=ROWS", with "!" where each id is said to
    /// occur once, then the number of steps that end.
    std::string pushed(int server) {
        const auto message = got(server);
        if (!message) return "";
        MessageReader reader(message->content.bytes());
        std::string text;
        while (const auto section = reader.next()) {
            const auto ids = section->ids();
            const auto width = shapes_->width_to_push(section->table);
            text += fmt::format("{}:{}={}{} ", section->table, fmt::join(ids, ","),
                                fmt::join(section->floats_behind_ids(ids.size() * width), ","),
                                section->has_each_id_once ? "!" : "");
        }
        return text + std::to_string(reader.header().steps);
    }

    std::optional<TableShapes> shapes_;
    std::optional<RecentBatches> recent_;
    std::optional<PushMessages> messages_;
    std::optional<RowPusher> pusher_;
};

TEST_F(RowPushes, HaveTheSumOfEachId) {
    auto& pusher = start_pushing(ServerMode::sync, 1);
    pusher.push(0, Ids{5, 6, 5}, Values{1, 2, 4}, true, {});
    pusher.push(1, Ids{5}, Values{8}, true, {});
    EXPECT_EQ(pushed(0), "") << "more may follow";
    end_step();
    EXPECT_EQ(pushed(0), "0:5,6=5,2! 1:5=8! 1");
}

TEST_F(RowPushes, OfSeveralCallsAreAddedBeforeTheyAreSent) {
    auto& pusher = start_pushing(ServerMode::sync, 1);
    pusher.push(0, Ids{5, 6}, Values{1, 2}, false, {});
    pusher.push(0, Ids{7, 5, 7}, Values{4, 8, 16}, true, {});
    end_step();
    EXPECT_EQ(pushed(0), "0:5,6,7=9,2,20! 1");
    pusher.push(0, Ids{5}, Values{1}, false, {});  // never the last one
    end_step();
    EXPECT_EQ(pushed(0), "0:5=1! 1");
}

TEST_F(RowPushes, SayWhetherAnIdMayBeThereTwice) {
    auto& pusher = start_pushing(ServerMode::sync, 1);
    pusher.push(0, Ids{5}, Values{1}, true, {});
    pusher.push(0, Ids{5}, Values{2}, true, {});
    end_step();
    EXPECT_EQ(pushed(0), "0:5=1! 0:5=2 1");
    pusher.push(0, Ids{5}, Values{4}, true, {});
    end_step();
    EXPECT_EQ(pushed(0), "0:5=4! 1") << "a new step";
}

TEST_F(RowPushes, OfManyRowsGoInSeveralMessages) {
    auto& pusher = start_pushing(ServerMode::sync, 1, 2);
    pusher.push(0, Ids{1, 2, 3, 4, 5}, Values{1, 2, 3, 4, 5}, true, {});
    EXPECT_EQ(pushed(0), "0:1,2=1,2! 0");
    EXPECT_EQ(pushed(0), "0:3,4=3,4! 0");
    EXPECT_EQ(pushed(0), "") << "there is room in the last one";
    end_step();
    EXPECT_EQ(pushed(0), "0:5=5! 1");
    // Sums are complete at the end.
    pusher.push(0, Ids{1, 2, 3, 1}, Values{1, 2, 3, 4}, true, {});
    EXPECT_EQ(pushed(0), "0:1,2=5,2! 0");
    end_step();
    EXPECT_EQ(pushed(0), "0:3=3! 1");
}

TEST_F(RowPushes, GoToTheServersOfTheirIds) {
    auto& pusher = start_pushing(ServerMode::sync, 2, 2);
    std::vector<Ids> of_server(2);
    for (std::int64_t id = 0; of_server[0].size() < 3 || of_server[1].size() < 3; ++id)
        if (auto& ids = of_server[server_of(id, 2)]; ids.size() < 3) ids.push_back(id);
    for (const bool has_repeated : {false, true}) {
        Ids ids;
        for (std::size_t i = 0; i < 3; ++i)
            for (const auto& own : of_server) ids.push_back(own[i]);
        if (has_repeated) ids.push_back(ids.front());
        const Values ones(ids.size(), 1);
        pusher.push(0, ids, ones, true, {});
        end_step();
        for (const std::size_t server : {0U, 1U}) {
            const auto& own = of_server[server];
            const bool is_twice = has_repeated && own.front() == ids.front();
            EXPECT_EQ(pushed(static_cast<int>(server)),
                      fmt::format("0:{},{}={},1! 0", own[0], own[1], is_twice ? 2 : 1));
            EXPECT_EQ(pushed(static_cast<int>(server)), fmt::format("0:{}=1! 1", own[2]));
            EXPECT_EQ(pushed(static_cast<int>(server)), "");
        }
    }
}

TEST_F(RowPushes, HaveAShowForEachIdAndItsClicks) {
    auto& pusher = start_pushing(ServerMode::sync, 1, 0, true);
    pusher.push(0, Ids{5, 6, 5}, Values{1, 2, 4}, false, Values{1, 0, 3});
    pusher.push(0, Ids{6}, Values{8}, true, {});
    end_step();
    EXPECT_EQ(pushed(0), "0:5,6=5,2,4,10,2,0! 1");
}

TEST_F(RowPushes, WaitForTheEndOfAStepThatIsMerged) {
    max_merged_ = 5;
    auto& pusher = start_pushing(ServerMode::async, 1, 1);
    clock_->note_pushed(0);
    pusher.push(0, Ids{5, 6}, Values{1, 2}, true, {});
    clock_->end_merged_step();
    clock_->note_applied(0);
    pusher.push(0, Ids{6}, Values{4}, true, {});
    EXPECT_EQ(pushed(0), "") << "it goes with the step before";
    clock_->end_merged_step();
    pusher.finish_step();
    messages_->send_ends(clock_->send_merged_steps());
    EXPECT_EQ(pushed(0), "0:5=1! 0");
    EXPECT_EQ(pushed(0), "0:6=6! 2");
    EXPECT_FALSE(clock_->are_all_applied());
}

// A push usually has the ids of a pull, whose distinct ids are known.
TEST_F(RowPushes, UseTheDistinctIdsOfAPull) {
    auto& pusher = start_pushing(ServerMode::sync, 1);
    const Ids ids{5, 6, 5};
    auto& pulled = recent_->next(0);
    pulled.begin(ids.size());
    pulled.add(ids);
    for (const auto& batch : {ids, Ids{6, 5, 5}}) {
        pusher.push(0, batch, Values{1, 2, 4}, true, {});
        end_step();
    }
    EXPECT_EQ(pushed(0), "0:5,6=5,2! 1");
    EXPECT_EQ(pushed(0), "0:6,5=1,6! 1");
}

TEST(RecentBatch, IsOneOfTheTwoNewestOfItsTable) {
    RecentBatches recent(2);
    const std::vector<Ids> batches{{1}, {2}, {3}};
    for (const auto& ids : batches) {
        auto& distinct = recent.next(0);
        distinct.begin(1);
        distinct.add(ids);
    }
    EXPECT_EQ(recent.find(0, batches[0]), nullptr);
    EXPECT_NE(recent.find(0, batches[1]), nullptr);
    EXPECT_NE(recent.find(0, batches[2]), nullptr);
    EXPECT_EQ(recent.find(1, batches[2]), nullptr);
}

TEST(RowSums, AreAddedInOrderWhereTheFirstRowOfAnIdLies) {
    DistinctIds distinct;
    Ids ids{4, 9, 4, 9, 2};
    Values values{1, 10, 2, 20, 4, 40, 8, 80, 16, 160};
    merge_repeated(distinct, 2, ids, values);
    EXPECT_THAT(ids, ElementsAre(4, 9, 2));
    EXPECT_THAT(values, ElementsAre(5, 50, 10, 100, 16, 160));
    merge_repeated(distinct, 2, ids, values);
    EXPECT_THAT(values, ElementsAre(5, 50, 10, 100, 16, 160));
}

TEST(TableShapes, FillMessagesWithRows) {
    const TableShapes shapes({16, 1'000'000, 14}, {false, false, true}, 0);
    EXPECT_EQ(shapes.message_rows(0), full_message / (8 + 16 * 4));
    EXPECT_EQ(shapes.message_rows(1), min_message_rows);
    EXPECT_EQ(shapes.message_rows(2), shapes.message_rows(0)) << "shows and clicks go along";
    EXPECT_EQ(TableShapes({16}, {}, 7).message_rows(0), 7U);
    EXPECT_FALSE(TableShapes({16}, {}, 7).has_statistics(0));
}

}  // namespace
}  // namespace dtrain::ps
