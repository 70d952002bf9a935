// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Rows of several tables at once. Oracle: servers whose rows are minus the sums of what was pushed; messages
// are counted where they leave.
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/client/client_test.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using tests::message_of;

using Ids = std::vector<std::int64_t>;

std::vector<std::vector<float>> take_all(Client& client, const std::vector<Client::RowRequest>& requests,
                                         const std::vector<WantedRows>& wanted) {
    std::vector<std::vector<float>> rows;
    for (auto i = requests.size(); i-- > 0;) {  // in whatever order
        rows.emplace_back(wanted[i].ids.size(), 77);
        client.take_rows(requests[i], rows.back());
    }
    return {rows.rbegin(), rows.rend()};
}

class Pulls : public ClientTest {
  protected:
    /// Gradients of tables 0 and 1: the row of an id is then minus the id, and ten times that.
    Client& start_with_rows(ServerMode mode, int servers) {
        servers_.clear();
        tables_ = 2;
        auto& client = start(mode, servers, TableOptions{});
        Ids ids(200);
        std::iota(ids.begin(), ids.end(), -100);
        std::vector<float> gradients(ids.begin(), ids.end());
        client.push_rows(0, ids, gradients, true);
        for (auto& gradient : gradients) gradient *= 10;
        client.push_rows(1, ids, gradients, true);
        client.end_step();
        client.drop_dense_values();
        client.flush();
        return client;
    }
};

TEST_F(Pulls, WhatIsWantedOfSeveralTablesIsRight) {
    for (const auto mode : each_mode)
        for (const int servers : {1, 3})
            for (const std::size_t message_rows : {0, 1, 2, 5}) {
                message_rows_ = message_rows;
                auto& client = start_with_rows(mode, servers);
                const Ids first{3, -7, 3, 99, 50}, second{3, 4, 5, 6, 7, 8, 4}, third{-100};
                const std::vector<WantedRows> wanted{
                    {0, first}, {1, second}, {0, third}, {1, {}}, {1, first, true}};
                const auto rows = take_all(client, client.ask_rows(wanted), wanted);
                EXPECT_THAT(rows[0], ElementsAre(-3, 7, -3, -99, -50));
                EXPECT_THAT(rows[1], ElementsAre(-30, -40, -50, -60, -70, -80, -40));
                EXPECT_THAT(rows[2], ElementsAre(100));
                EXPECT_TRUE(rows[3].empty());
                EXPECT_THAT(rows[4], ElementsAre(-30, 70, -30, -990, -500));
                client.leave();
            }
}

TEST_F(Pulls, GoInOneMessageToAServer) {
    for (const int servers : {1, 3}) {
        auto& client = start_with_rows(ServerMode::sync, servers);
        Ids ids(60);
        std::iota(ids.begin(), ids.end(), 0);
        const std::vector<WantedRows> wanted{{0, ids}, {1, ids}, {0, ids}};
        auto before = pumped_->sent();
        take_all(client, client.ask_rows(wanted), wanted);
        EXPECT_EQ(pumped_->sent() - before, servers);
        before = pumped_->sent();
        client.prefetch_rows(wanted);
        EXPECT_EQ(pumped_->sent() - before, servers);
    }
}

TEST_F(Pulls, OfManyRowsGoInSeveralMessages) {
    auto& client = start_with_rows(ServerMode::sync, 1);
    Ids ids(25'000);  // 21845 are as many as go in one; what is left of three has place in another
    std::iota(ids.begin(), ids.end(), -100);
    const std::vector<WantedRows> wanted{{0, ids}, {1, ids}, {1, ids}};
    const auto before = pumped_->sent();
    const auto rows = take_all(client, client.ask_rows(wanted), wanted);
    EXPECT_EQ(pumped_->sent() - before, 4);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        ASSERT_EQ(rows[0][i], i < 200 ? static_cast<float>(-ids[i]) : 0);
        ASSERT_EQ(rows[2][i], i < 200 ? static_cast<float>(-10 * ids[i]) : 0);
    }
}

TEST_F(Pulls, ThatWereAskedForEarlyAreTakenOneByOne) {
    auto& client = start_with_rows(ServerMode::sync, 2);
    const Ids first{1, 2}, second{2, 3}, other{5};
    client.prefetch_rows(std::vector<WantedRows>{{0, first}, {0, second}, {1, second}});
    client.push_rows(0, Ids{2}, std::vector<float>{0.5F}, true);
    client.end_step();
    client.drop_dense_values();
    const std::vector<WantedRows> wanted{{0, second}, {0, first}, {1, second}};
    const auto before = pumped_->sent();
    const auto rows = take_all(client, client.ask_rows(wanted), wanted);
    EXPECT_EQ(pumped_->sent(), before);
    EXPECT_THAT(rows[0], ElementsAre(-2.5F, -3));
    EXPECT_THAT(rows[1], ElementsAre(-1, -2.5F));
    EXPECT_THAT(rows[2], ElementsAre(-20, -30));
    // What was not taken in its step is never taken.
    client.prefetch_rows(std::vector<WantedRows>{{0, first}, {1, other}});
    for (int step = 0; step < 2; ++step) {
        client.push_rows(0, Ids{1}, std::vector<float>{1}, true);
        client.end_step();
        client.drop_dense_values();
    }
    EXPECT_THAT(ClientTest::rows({1, 2}), ElementsAre(-3, -2.5F));
    client.leave();
}

TEST_F(Pulls, WhatIsDroppedGoesAsItComes) {
    auto& client = start_with_rows(ServerMode::async, 1);
    const Ids ids{1, 2};
    const std::vector<WantedRows> wanted{{0, ids}, {1, ids}};
    const auto refusal = [&](std::uint64_t request) {
        MessageWriter writer(*transports_[0], {.kind = MessageKind::values, .request = request});
        writer.send(1);
        return message_of<MessageError>([&] { client.progress(); });
    };
    for (const bool comes_first : {false, true}) {
        const auto requests = client.ask_rows(wanted);
        const auto request = requests[0].parts[0][0].request;
        EXPECT_EQ(request, requests[1].parts[0][0].request);
        are_held_up_ = !comes_first;
        client.progress();
        client.drop_rows(requests[1]);
        are_held_up_ = false;
        std::vector<float> rows(2);
        client.take_rows(requests[0], rows);
        EXPECT_THAT(rows, ElementsAre(-1, -2));
        EXPECT_THAT(refusal(request), testing::HasSubstr("which it was not asked"));
    }
    are_held_up_ = true;
    const auto requests = client.ask_rows(wanted);
    for (const auto& each : requests) client.drop_rows(each);
    are_held_up_ = false;
    client.progress();
    EXPECT_THAT(refusal(requests[0].parts[0][0].request), testing::HasSubstr("which it was not asked"));
    EXPECT_THAT(ClientTest::rows({1}), ElementsAre(-1));
    client.leave();
}

}  // namespace
}  // namespace dtrain::ps
