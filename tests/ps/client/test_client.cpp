// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: servers in this process whose parameters are minus the sum of all gradients; they work when the
// client looks for messages, unless the test holds them up.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/client/client_test.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

TEST_F(ClientTest, AddsUpGradientsOfAnIdAndLooksUpRepeatedOnes) {
    for (const auto mode : {ServerMode::sync, ServerMode::async, ServerMode::half_async}) {
        servers_.clear();
        auto& client = start(mode);
        step(1);
        client.flush();
        EXPECT_THAT(rows({6, 5, 5, 9}), ElementsAre(-1, -2, -2, 0)) << to_string(mode);
        EXPECT_THAT(dense(), ElementsAre(-1, -10)) << to_string(mode);
        EXPECT_EQ(servers_[0]->counts().keys_pushed, 2U);
        client.leave();
        EXPECT_TRUE(servers_[0]->is_done());
    }
}

TEST_F(ClientTest, AddsUpStepsWhileTheServerIsBusy) {
    auto& client = start(ServerMode::async);
    are_held_up_ = true;
    for (int i = 0; i < 6; ++i) step(1);
    are_held_up_ = false;
    client.flush();
    EXPECT_THAT(rows({5, 6}), ElementsAre(-12, -6));
    EXPECT_THAT(dense(), ElementsAre(-6, -60));
    // The first step left alone, the other five together.
    EXPECT_EQ(servers_[0]->steps(), 2);
    EXPECT_EQ(pumped_->steps_pushed(), 6U);
    EXPECT_EQ(servers_[0]->counts().keys_pushed, 4U);
    client.leave();
}

TEST_F(ClientTest, WaitsWhenTooManyStepsAreAddedUp) {
    start(ServerMode::async);
    for (int i = 0; i < 100; ++i) {
        are_held_up_ = i % 20 < 18;  // the client never gets to 20 alone
        step(1);
    }
    are_held_up_ = false;
    client_->flush();
    EXPECT_THAT(rows({6}), ElementsAre(-100));
    client_->leave();
}

// What a server holds says how many of the trainer's steps are in it: each adds one.
TEST_F(ClientTest, AsyncStepsBeginWithNearlyAllOfTheTrainersOwn) {
    for (const int max : {1, 2, 5}) {
        servers_.clear();
        most_merged_ = max;
        auto& client = start(ServerMode::async, 2);
        std::vector<int> known(2);
        int max_lacked = 0;
        for (int steps = 1; steps <= 120; ++steps) {
            const int slow = steps / 10 % 4;  // 2: both
            lookups_per_message_ = {slow == 0 || slow == 2 ? 1 + steps % 20 : 1,
                                    slow == 1 || slow == 2 ? 1 + steps % 20 : 1, 1};
            for (int server = 0; server < 2; ++server)
                client.push_dense(server, 0, std::vector<float>{-1, 0});
            client.end_step();
            for (int server = 0; server < 2; ++server) {
                const auto values = client.dense_values(server);
                auto& applied = known[static_cast<std::size_t>(server)];
                if (!values.empty()) applied = static_cast<int>(values[0]);
                max_lacked = std::max(max_lacked, steps - applied);
            }
            client.drop_dense_values();
        }
        EXPECT_EQ(max_lacked, max - 1);
        lookups_per_message_ = {1, 1, 1};
        client.flush();
        EXPECT_THAT(dense(), ElementsAre(120, 0)) << max;
        if (max == 1) {
            EXPECT_EQ(servers_[0]->steps(), 120);
        }
        client.leave();
    }
}

TEST_F(ClientTest, SpreadsIdsOverServers) {
    auto& client = start(ServerMode::sync, 3);
    std::vector<std::int64_t> ids(300);
    std::iota(ids.begin(), ids.end(), -150);
    std::vector<float> gradients(ids.begin(), ids.end());
    EXPECT_THAT(rows(ids), Each(0));
    client.push_rows(0, ids, gradients, true);
    client.end_step();
    client.drop_dense_values();
    const auto found = rows(ids);
    for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(found[i], -gradients[i]);
    for (std::uint32_t server = 0; server < 3; ++server)
        EXPECT_EQ(servers_[server]->tables()[0].size(),
                  static_cast<std::size_t>(
                      std::ranges::count_if(ids, [&](auto id) { return server_of(id, 3) == server; })));
    client.leave();
}

TEST_F(ClientTest, TakesRowsThatWereAskedForEarlyOrAsksAgain) {
    auto& client = start(ServerMode::sync, 2);
    prefetch({5, 6, 6});
    EXPECT_THAT(rows({5}), ElementsAre(0));  // of this step
    step(1);
    EXPECT_THAT(rows({5, 6, 6}), ElementsAre(-2, -1, -1));
    prefetch({5, 6, 6});
    step(1);
    EXPECT_THAT(rows({6, 5}), ElementsAre(-2, -4));  // another batch than was said
    prefetch({7});
    client.leave();  // what was asked for is not waited for
}

TEST_F(ClientTest, TellsShowsAndClicksOfEachId) {
    for (const auto mode : {ServerMode::sync, ServerMode::async, ServerMode::half_async})
        for (const int servers : {1, 3}) {
            servers_.clear();
            // One click is worth as much as one show more than a row needs to stay.
            auto& client = start(mode, servers,
                                 TableOptions{.statistics = RowStatistics{.decay = 1, .least_score = 0.15}});
            for (int step = 0; step < 2; ++step) {
                client.push_rows(0, std::vector<std::int64_t>{5, 6, 5, 7}, std::vector<float>{1, 2, 3, 4},
                                 false, std::vector<float>{1, 0, 0, 0});
                client.push_rows(0, std::vector<std::int64_t>{7, 5}, std::vector<float>{5, 6}, true);
                client.end_step();
                client.drop_dense_values();
            }
            client.push_rows(0, std::vector<std::int64_t>{8}, std::vector<float>{9}, true);
            client.end_step();
            client.drop_dense_values();
            client.flush();
            std::vector<std::vector<float>> found;
            for (const auto& server : servers_)
                server->tables()[0].for_each([&](const TableRow& row) {
                    found.push_back({static_cast<float>(row.id), row.weights[0], row.shows, row.clicks});
                });
            EXPECT_THAT(found,
                        testing::UnorderedElementsAre(ElementsAre(5, -20, 6, 2), ElementsAre(6, -4, 2, 0),
                                                      ElementsAre(7, -18, 4, 0), ElementsAre(8, -9, 1, 0)));
            EXPECT_EQ(client.begin_day(3, true), 1U);
            for (const auto& server : servers_) EXPECT_EQ(server->tables()[0].day(), 3U);
            EXPECT_THAT(rows({8, 7}, true), ElementsAre(0, -18));
            client.leave();
        }
}

/// Some batches, with ids that repeat in them and from one to the next.
std::vector<std::vector<std::int64_t>> mixed_batches() {
    std::vector<std::vector<std::int64_t>> batches;
    for (std::int64_t number = 0; number < 6; ++number) {
        auto& ids = batches.emplace_back(number == 3 ? 0 : 29 + 5 * number);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto index = static_cast<std::int64_t>(i);
            ids[i] = number % 2 == 0 ? index * 7 - 50 : index * index * (number + 3) % 37 - 5;
        }
    }
    return batches;
}

/// Gradients whose sum depends on their order.
std::vector<float> gradients_of(std::size_t count, std::size_t number) {
    std::vector<float> gradients(count);
    for (std::size_t i = 0; i < count; ++i)
        gradients[i] = 1 / static_cast<float>(i + 1) + 0.37F * static_cast<float>(number);
    return gradients;
}

TEST_F(ClientTest, BatchesThatGoInSeveralMessagesHaveTheSameBits) {
    for (const auto mode : each_mode)
        for (const int servers : {1, 3})
            for (const bool has_statistics : {false, true}) {
                std::vector<float> expected;
                for (const std::size_t message_rows : {0, 1, 2, 5, 29}) {
                    servers_.clear();
                    message_rows_ = message_rows;
                    TableOptions options{.initializer = UniformRow{1}};
                    if (has_statistics) options.statistics.emplace();
                    auto& client = start(mode, servers, options);
                    std::vector<float> found;
                    const auto batches = mixed_batches();
                    for (std::size_t i = 0; i < batches.size(); ++i) {
                        const auto pulled = rows(batches[i]);
                        found.insert(found.end(), pulled.begin(), pulled.end());
                        if (i + 1 < batches.size()) prefetch(batches[i + 1]);
                        const auto gradients = gradients_of(batches[i].size(), i);
                        const std::vector<float> clicks(batches[i].size(), 0.5F);
                        if (i % 3 == 2) client.push_rows(0, batches[0], gradients_of(29, 9), false);
                        client.push_rows(0, batches[i], gradients, true,
                                         has_statistics ? clicks : std::vector<float>());
                        client.push_dense(0, 0, std::vector<float>{1, 2});
                        client.end_step();
                        client.drop_dense_values();
                        if (mode != ServerMode::sync) client.flush();
                    }
                    const auto read = rows({-50, 5, 5, -8, 1000}, true);
                    found.insert(found.end(), read.begin(), read.end());
                    for (const auto& server : servers_) {
                        // In the order of their insertion.
                        server->tables()[0].for_each([&](const TableRow& row) {
                            found.insert(found.end(),
                                         {static_cast<float>(row.id), row.weights[0], row.shows, row.clicks});
                        });
                        if (message_rows == 1) {
                            EXPECT_GE(server->counts().pulls, server->counts().keys_pulled);
                        }
                    }
                    client.leave();
                    if (message_rows == 0) expected = found;
                    EXPECT_EQ(found, expected)
                        << to_string(mode) << ", " << servers << " servers, " << message_rows << " rows";
                }
            }
}

TEST_F(ClientTest, NobodySeesAPushThatHasNotComeWhole) {
    for (const auto mode : each_mode) {
        servers_.clear();
        behind_message_ = {};
        message_rows_ = 3;
        auto& client = start(mode, 1);
        std::vector<std::int64_t> ids(20);
        std::iota(ids.begin(), ids.end(), 0);
        rows(ids);
        int messages = 0;
        behind_message_ = [&](std::size_t /*server*/) {
            ++messages;
            std::vector<float> values(ids.size());
            servers_[0]->tables()[0].find(ids, values);
            EXPECT_THAT(values, Each(messages < 7 ? 0 : -1)) << messages;
        };
        client.push_rows(0, ids, std::vector<float>(ids.size(), 1), true);
        pump();
        EXPECT_EQ(messages, 6);  // have gone while the step goes on
        client.end_step();
        pump();
        EXPECT_GE(messages, 7);
        behind_message_ = {};
        client.drop_dense_values();
        EXPECT_EQ(servers_[0]->counts().pushes, 7U);
        EXPECT_EQ(servers_[0]->counts().keys_pushed, 20U);
        client.leave();
    }
}

TEST_F(ClientTest, NamesAServerThatStopsBetweenTheMessagesOfABatch) {
    message_rows_ = 4;
    deadline_ = std::chrono::seconds(1);
    auto& client = start(ServerMode::sync, 2);
    const auto on_second = ids_on(1, 2, 12);
    int messages = 0;
    behind_message_ = [&](std::size_t server) {
        if (server == 1 && ++messages == 2) lookups_per_message_[1] = 1 << 30;
    };
    lookups_per_message_[1] = 2;
    std::vector<float> out(12);
    EXPECT_THAT(message_of<CommunicatorTimeout>([&] {
                    client.pull_rows({0, on_second}, out);
                }),
                HasSubstr("no answer of parameter server 1 (rank 1) to 'pull' within"));
    EXPECT_EQ(messages, 2);
}

TEST_F(ClientTest, TellsWhatAServerRefusesOfOneMessageOfABatch) {
    message_rows_ = 2;
    start(ServerMode::sync, 1, 5);
    EXPECT_THAT(message_of<ServerError>([&] {
                    rows({1, 2, 3, 4, 5, 6, 1, 2});
                }),
                HasSubstr("parameter server 0: table 't'"));
    EXPECT_EQ(servers_[0]->tables()[0].size(), 4U);
}

TEST_F(ClientTest, TellsWhatAServerRefuses) {
    start(ServerMode::sync, 1, 2);
    EXPECT_THAT(rows({1, 2}), Each(0));
    EXPECT_THAT(rows({1, 3}, true), Each(0));
    EXPECT_THAT(message_of<ServerError>([&] { rows({1, 3}); }), HasSubstr("parameter server 0: table 't'"));
    EXPECT_THAT(message_of<ServerError>([&] { client_->begin_save("/tmp/x"); }),
                HasSubstr("parameter server 0: this server keeps no checkpoints"));
}

// What is held on to while other messages come stays as it is.
TEST_F(ClientTest, RefusesAnswersThatItDidNotAskFor) {
    auto& client = start(ServerMode::async, 2);
    std::vector<float> one(1);
    const auto on_first = ids_on(0, 2, 1);
    const auto row_request = client.ask_rows(std::vector<WantedRows>{{0, on_first}}).front();
    const auto request = row_request.parts.at(0).at(0).request;
    const auto refusal = [&](int server, MessageKind kind, std::uint64_t of) {
        MessageWriter writer(*transports_[static_cast<std::size_t>(server)], {.kind = kind, .request = of});
        if (kind == MessageKind::values) writer.add_values(0, 1, 1)[0] = 7;
        writer.send(2);
        return message_of<MessageError>([&] { client.progress(); });
    };
    are_held_up_ = true;
    EXPECT_EQ(refusal(1, MessageKind::values, request),
              fmt::format("server 1 answers request {}, which it was not asked", request));
    for (const auto kind : {MessageKind::applied, MessageKind::saving, MessageKind::farewell})
        EXPECT_EQ(
            refusal(0, kind, request),
            fmt::format("server 0 answers the 'pull' of request {} with '{}'", request, to_string(kind)));
    EXPECT_EQ(refusal(0, MessageKind::values, request), "");
    EXPECT_EQ(refusal(0, MessageKind::values, request),
              fmt::format("server 0 answers the 'pull' of request {} twice", request));
    client.take_rows(row_request, one);
    EXPECT_THAT(one, ElementsAre(7));
}

TEST_F(ClientTest, SaysWhatToDoAboutAMessageThatIsTooLong) {
    max_message_bytes_ = 4096;
    for (const auto mode : each_mode) {
        servers_.clear();
        start(mode);
        std::vector<std::int64_t> ids(300);
        std::iota(ids.begin(), ids.end(), 0);
        EXPECT_EQ(rows(ids).size(), 300U);
        ids.resize(1000);
        std::iota(ids.begin(), ids.end(), 0);
        EXPECT_EQ(message_of<MessageError>([&] { rows(ids); }),
                  "a 'pull' for rank 0 has 8064 bytes, and one message has 4096 at most: use more servers, a "
                  "smaller batch, or a shorter wire ([servers] wire = \"bfloat16\")");
        EXPECT_THAT(rows({5}), ElementsAre(0));
    }
}

TEST_F(ClientTest, DictSizeIsOfAllServersTogetherHoweverTheyShareTheIds) {
    for (const auto mode : each_mode)
        for (const std::size_t on_first : {0, 1, 37, 99}) {
            servers_.clear();
            auto& client = start(mode, 2, 100);
            for (const auto& ids : {ids_on(0, 2, on_first), ids_on(1, 2, 100 - on_first)}) {
                rows(ids);
                rows(ids);
            }
            rows(ids_on(1, 2, 3, 100000), true);  // reads_only make none
            EXPECT_EQ(message_of<DictSizeError>([&] { client.flush(); }), "");
            // A server that has all of them refuses by itself.
            const std::uint32_t one_with_room = on_first == 0 ? 0 : 1;
            EXPECT_THAT(message_of<DictSizeError>([&] { rows(ids_on(one_with_room, 2, 1, 100000)); }),
                        HasSubstr("table 't' has rows for 101 distinct ids on all servers together, and its "
                                  "dict_size is 100: use a larger one"))
                << to_string(mode) << " " << on_first;
            client.leave();  // it was told
        }
}

TEST_F(ClientTest, RowsThatArePushedCountToo) {
    for (const auto mode : each_mode) {
        servers_.clear();
        auto& client = start(mode, 2, 100);
        const auto push = [&](const std::vector<std::int64_t>& ids) {
            client.push_rows(0, ids, std::vector<float>(ids.size()), true);
            client.end_step();
            client.drop_dense_values();
            client.flush();
        };
        push(ids_on(0, 2, 60));
        push(ids_on(1, 2, 40));
        EXPECT_THAT(message_of<DictSizeError>([&] { push(ids_on(1, 2, 1, 100000)); }),
                    HasSubstr("101 distinct ids"))
            << to_string(mode);
        client.leave();
    }
}

TEST_F(ClientTest, RowsOfOtherTrainersCountAtASaveAndAtTheEnd) {
    for (const bool saves : {false, true}) {
        servers_.clear();
        auto& client = start(ServerMode::async, 2, 100);
        rows(ids_on(0, 2, 100));
        std::vector<float> row(1);
        servers_[1]->tables()[0].pull(std::vector<std::int64_t>{5}, row);
        EXPECT_THAT(message_of<DictSizeError>([&] {
                        if (saves)
                            client.begin_save("somewhere");
                        else
                            client.leave();
                    }),
                    HasSubstr("101 distinct ids"));
        client.leave();
        EXPECT_TRUE(servers_[0]->is_done() && servers_[1]->is_done());
    }
}

TEST_F(ClientTest, RowsThatWentMakeRoom) {
    for (const bool moves : {false, true}) {
        servers_.clear();
        behind_message_ = {};
        start(ServerMode::async, 2,
              TableOptions{.dict_size = 100, .statistics = RowStatistics{.decay = 1, .least_score = 1}});
        auto& first = servers_[0]->tables()[0];
        auto& second = servers_[1]->tables()[0];
        rows(ids_on(0, 2, 60));
        rows(ids_on(1, 2, 40));
        second.shrink();  // of which this trainer hears nothing
        ASSERT_EQ(second.size(), 0U);
        const auto move = [](SparseTable& from, SparseTable& to, const std::vector<std::int64_t>& ids) {
            from.shrink();
            std::vector<float> values(ids.size());
            to.pull(ids, values);
        };
        // While it asks, rows come there that have just gone here, twice: there are never more than 61.
        std::vector<int> messages{0, 0};
        if (moves)
            behind_message_ = [&](std::size_t server) {
                const auto number = ++messages[server];
                // The first ones are the pull and the turn.
                if (server == 0 && (number == 3 || number == 4)) move(first, second, ids_on(1, 2, 60));
                if (server == 1 && number == 1) move(second, first, ids_on(0, 2, 60));
            };
        EXPECT_EQ(message_of<DictSizeError>([&] { rows(ids_on(0, 2, 1, 100000)); }), "");
        EXPECT_EQ(first.size() + second.size(), moves ? 60U : 61U);
        EXPECT_THAT(message_of<DictSizeError>(
                        [&] { rows(moves ? ids_on(0, 2, 41, 200000) : ids_on(1, 2, 40, 200000)); }),
                    HasSubstr("101 distinct ids"));
        client_->leave();
    }
}

/// Saves nothing, in five pieces.
class SlowSaver final : public Saver {
  public:
    explicit SlowSaver(std::string failure = "", std::string refused = "")
        : failure_(std::move(failure)), refused_(std::move(refused)) {}
    void begin(const std::string& request) override {
        if (request == refused_) throw Error("there is no " + request);
        pieces_ = 5;
    }
    bool step() override { return pieces_ > 0 && pieces_-- > 0; }
    bool is_written() const override { return pieces_ == 0; }
    std::string finish() override {
        if (!failure_.empty()) throw Error(failure_);
        return "done";
    }

  private:
    std::string failure_;
    std::string refused_;
    int pieces_ = 0;
};

TEST_F(ClientTest, LetsServersSaveWhileItGoesOn) {
    for (const auto mode : {ServerMode::sync, ServerMode::async, ServerMode::half_async}) {
        auto& client = start(mode, 2);
        for (auto& server : servers_) server->save_by(std::make_unique<SlowSaver>());
        for (int round = 0; round < 2; ++round) {
            client.begin_save("somewhere");
            EXPECT_THAT(message_of<Error>([&] { client.begin_save("else"); }), HasSubstr("saving already"));
            EXPECT_FALSE(client.is_saved());
            step(1);
            for (int piece = 0; piece < 6; ++piece) {
                EXPECT_FALSE(client.is_saved());
                for (auto& server : servers_) server->go_on_with_save();
            }
            EXPECT_TRUE(client.is_saved());
            EXPECT_THAT(client.finish_save(), ElementsAre("done", "done"));
        }
        client.leave();
        servers_.clear();
    }
}

TEST_F(ClientTest, TellsAFailureToSaveOnlyToWhoAsksForIt) {
    auto& client = start(ServerMode::sync, 2);
    servers_[0]->save_by(std::make_unique<SlowSaver>());
    servers_[1]->save_by(std::make_unique<SlowSaver>("the disk is full"));
    client.begin_save("somewhere");
    for (int piece = 0; piece < 6; ++piece)
        for (auto& server : servers_) server->go_on_with_save();
    step(1);
    EXPECT_THAT(rows({5}), ElementsAre(-2));
    EXPECT_TRUE(client.is_saved());
    EXPECT_THAT(message_of<ServerError>([&] { client.finish_save(); }),
                HasSubstr("parameter server 1: the disk is full"));
}

TEST_F(ClientTest, ASaveThatOneServerRefusesIsNone) {
    auto& client = start(ServerMode::sync, 2);
    servers_[0]->save_by(std::make_unique<SlowSaver>("", "nowhere"));
    servers_[1]->save_by(std::make_unique<SlowSaver>());
    do_save_ = true;
    EXPECT_THAT(message_of<ServerError>([&] { client.begin_save("nowhere"); }),
                HasSubstr("parameter server 0: there is no nowhere"));
    client.begin_save("somewhere");
    EXPECT_THAT(client.finish_save(), ElementsAre("done", "done"));
    client.leave();
}

}  // namespace
}  // namespace dtrain::ps
