// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what servers that the test plays are asked for, and the rows that it answers with.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/client/channel_test.hpp"
#include "ps/client/row_puller.hpp"
#include "ps/client/server_error.hpp"
#include "ps/table/id_hash.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using tests::message_of;
using Ids = std::vector<std::int64_t>;

/// Servers whose rows are ten times the id in table 0, and a hundred times in table 1, and whole steps of
/// 1000.
class RowPulls : public ChannelTest {
  protected:
    RowPuller& start_pulling(int servers, std::size_t message_rows = 0) {
        auto& channel = start(ServerMode::async, servers);
        shapes_.emplace(std::vector<std::size_t>{1, 1}, std::vector<bool>{}, message_rows);
        recent_.emplace(2);
        return puller_.emplace(*shapes_, channel, *recent_);
    }

    void play() override {
        if (!do_answer_) return;
        for (int server = 0; server < trainer(); ++server)
            while (const auto message = got(server)) answer_pull(server, *message);
    }

    void answer_pull(int server, const comm::Message& message) {
        MessageReader reader(message.content.bytes());
        const auto step = reader.header().step;
        auto writer = answer_of(server, {.kind = MessageKind::values, .request = reader.header().request});
        std::string text = std::to_string(server);
        while (const auto section = reader.next()) {
            const auto ids = section->ids();
            const auto rows = writer.add_values(section->table, ids.size(), 1);
            for (std::size_t i = 0; i < ids.size(); ++i)
                rows[i] = static_cast<float>(1000 * step + ids[i] * (section->table == 0 ? 10 : 100));
            text +=
                fmt::format(" {}:{}{}", section->table, fmt::join(ids, ","), section->reads_only ? "?" : "");
        }
        requests_.push_back(text);
        send(std::move(writer));
    }

    std::vector<float> taken(const RowRequest& request, std::size_t rows) {
        std::vector<float> out(rows, 77);
        puller_->take(request, out);
        return out;
    }
    std::vector<float> pulled(std::int64_t step, const WantedRows& wanted) {
        return taken(puller_->ask(step, {&wanted, 1}).front(), wanted.ids.size());
    }

    bool do_answer_ = true;
    std::vector<std::string> requests_;  ///< "SERVER TABLE:IDS ..." of each message
    std::optional<TableShapes> shapes_;
    std::optional<RecentBatches> recent_;
    std::optional<RowPuller> puller_;
};

TEST_F(RowPulls, AskForEachIdOnceAndGiveItsRowToEach) {
    start_pulling(1);
    const Ids ids{5, 6, 5, 7, 6};
    EXPECT_THAT(pulled(0, {0, ids}), ElementsAre(50, 60, 50, 70, 60));
    EXPECT_THAT(requests_, ElementsAre("0 0:5,6,7"));
    EXPECT_NE(recent_->find(0, ids), nullptr);
    EXPECT_THAT(pulled(0, {0, Ids{5, 5, 6, 6}}), ElementsAre(50, 50, 60, 60)) << "repeated before another";
    const auto messages = requests_.size();
    EXPECT_THAT(pulled(0, {1, {}}), ElementsAre());
    EXPECT_EQ(requests_.size(), messages) << "nothing is wanted";
}

TEST_F(RowPulls, GoToTheServersOfTheirIdsInMessagesOfAFewRows) {
    for (const std::size_t message_rows : {0, 1, 2, 3}) {
        start_pulling(3, message_rows);
        Ids ids;
        std::vector<float> expected;
        for (std::int64_t i = 0; i < 20; ++i) {
            ids.push_back(i * i % 13 - 4);  // some of them twice
            expected.push_back(static_cast<float>(10 * ids.back()));
        }
        EXPECT_EQ(pulled(0, {0, ids}), expected) << message_rows;
        Ids distinct{-4, -3, 0, 5, 8};
        EXPECT_EQ(pulled(0, {0, distinct}), (std::vector<float>{-40, -30, 0, 50, 80})) << message_rows;
    }
}

TEST_F(RowPulls, OfSeveralTablesShareAMessage) {
    auto& puller = start_pulling(1);
    const Ids first{1, 2}, second{2};
    const std::vector<WantedRows> wanted{{0, first}, {1, second, true}};
    const auto requests = puller.ask(3, wanted);
    EXPECT_FALSE(puller.have_come(requests[0]));
    EXPECT_THAT(taken(requests[1], 1), ElementsAre(3200));
    EXPECT_TRUE(puller.have_come(requests[0]));
    EXPECT_THAT(taken(requests[0], 2), ElementsAre(3010, 3020));
    EXPECT_THAT(requests_, ElementsAre("0 0:1,2 1:2?"));
}

TEST_F(RowPulls, ForTheNextStepAreFoundThere) {
    auto& puller = start_pulling(1);
    const Ids ids{1, 2}, others{2, 1};
    const WantedRows wanted{0, ids};
    puller.prefetch(4, {&wanted, 1});
    EXPECT_THAT(pulled(4, wanted), ElementsAre(4010, 4020)) << "this step's are asked for";
    EXPECT_THAT(pulled(5, {0, others}), ElementsAre(5020, 5010)) << "another batch";
    EXPECT_THAT(pulled(5, {1, ids}), ElementsAre(5100, 5200)) << "another table";
    EXPECT_THAT(pulled(5, {0, ids, true}), ElementsAre(5010, 5020)) << "what is evaluated is not trained";
    const auto messages = requests_.size();
    EXPECT_THAT(pulled(5, wanted), ElementsAre(5010, 5020));
    EXPECT_EQ(requests_.size(), messages);
    EXPECT_THAT(pulled(5, wanted), ElementsAre(5010, 5020)) << "they are taken once";
    EXPECT_EQ(requests_.size(), messages + 1);
}

TEST_F(RowPulls, ThatAreTooOldAreDropped) {
    auto& puller = start_pulling(1);
    do_answer_ = false;
    const Ids ids{1};
    const WantedRows wanted{0, ids};
    puller.prefetch(4, {&wanted, 1});
    do_answer_ = true;
    channel_->progress();
    ASSERT_TRUE(channel_->has_come(1));
    EXPECT_THAT(pulled(6, wanted), ElementsAre(6010));
    answer_rows(0, 1, {{7}});
    EXPECT_EQ(message_of<MessageError>([&] { channel_->progress(); }),
              "server 0 answers request 1, which it was not asked");
}

TEST_F(RowPulls, ThatAreDroppedAreReadByNobody) {
    auto& puller = start_pulling(1);
    do_answer_ = false;
    const Ids ids{1};
    const WantedRows wanted{0, ids};
    puller.drop(puller.ask(0, {&wanted, 1}).front());
    do_answer_ = true;
    channel_->progress();
    EXPECT_THAT(pulled(0, wanted), ElementsAre(10));
    answer_rows(0, 1, {{7}});
    EXPECT_NE(message_of<MessageError>([&] { channel_->progress(); }), "");
}

TEST_F(RowPulls, WithTooFewRowsAreRefused) {
    auto& puller = start_pulling(1);
    do_answer_ = false;
    const Ids ids{1, 2};
    const WantedRows wanted{0, ids};
    const auto first = puller.ask(0, {&wanted, 1}).front();
    answer_rows(0, 1, {});
    EXPECT_EQ(message_of<ServerError>([&] { taken(first, 2); }),
              "parameter server 0: answered without values");
    const auto second = puller.ask(0, {&wanted, 1}).front();
    answer_rows(0, 2, {{1, 2, 3}});
    EXPECT_EQ(message_of<MessageError>([&] { taken(second, 2); }), "a section of 3 has 16 bytes");
}

}  // namespace
}  // namespace dtrain::ps
