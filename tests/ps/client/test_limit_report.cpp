// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the sizes that the test's servers tell; of a table that has them all at one moment too many is
// told.
#include <array>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/client/channel_test.hpp"
#include "ps/client/limit_report.hpp"
#include "ps/table/table_options.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

/// Servers that answer 'sizes'.
class Reports : public ChannelTest {
  protected:
    struct Table {
        std::uint64_t rows = 0;
        std::uint64_t evicted = 0;
    };

    LimitReport& start_with(int servers) {
        auto& channel = start(ServerMode::async, servers, 100);
        report_.emplace(*limits_, channel);
        channel.on_wait([this] { report_->check(); });
        return *report_;
    }

    void play() override {
        for (int server = 0; server < trainer(); ++server)
            while (const auto header = header_got(server)) {
                ++rounds_.at(static_cast<std::size_t>(server));
                if (header->steps != 0) turns_.push_back(static_cast<ReportLock>(header->steps));
                if (before_answer_) before_answer_();
                send_size(server, MessageKind::sized, header->request);
            }
    }

    void send_size(int server, MessageKind kind, std::uint64_t request) {
        const auto& [rows, evicted] = tables_.at(static_cast<std::size_t>(server));
        auto writer = answer_of(server, {.kind = kind, .request = request});
        writer.add_size(0, rows, evicted);
        send(std::move(writer));
    }

    /// An answer to something else, from which the trainer learns a size.
    void learn(int server) {
        send_size(server, MessageKind::applied, channel_->open(server, MessageKind::push));
        channel_->progress();
    }

    std::array<Table, 2> tables_;
    std::array<int, 2> rounds_{};
    std::vector<ReportLock> turns_;
    std::function<void()> before_answer_;
    std::optional<LimitReport> report_;
};

TEST_F(Reports, NothingAsLongAsLimitsAreKept) {
    auto& report = start_with(2);
    tables_ = {{{60}, {40}}};
    for (const int server : {0, 1}) learn(server);
    report.check();
    EXPECT_THAT(rounds_, ElementsAre(0, 0));
}

TEST_F(Reports, ALimitThatIsPassedOnceAndKeepsTheTurn) {
    auto& report = start_with(2);
    tables_ = {{{60}, {41}}};
    for (const int server : {0, 1}) learn(server);
    EXPECT_THAT(message_of<DictSizeError>([&] { report.check(); }),
                HasSubstr("101 distinct ids on all servers together, and its dict_size is 100"));
    EXPECT_THAT(turns_, ElementsAre(ReportLock::takes));
    EXPECT_THAT(rounds_, ElementsAre(3, 2));
    report.check();
    EXPECT_THAT(rounds_, ElementsAre(3, 2)) << "it is told";
}

TEST_F(Reports, NothingOfRowsThatHaveGoneMeanwhile) {
    auto& report = start_with(2);
    tables_ = {{{60}, {41}}};
    for (const int server : {0, 1}) learn(server);
    tables_[1] = {0, 41};
    report.check();
    EXPECT_THAT(turns_, ElementsAre(ReportLock::takes, ReportLock::gives_back));
    EXPECT_THAT(rounds_, ElementsAre(3, 1));
}

// 60 rows move from one server to the other and back, each time after one of them was asked: the sums are too
// large, and there are never more than 60.
TEST_F(Reports, NothingOfRowsThatMoveWhileItAsks) {
    auto& report = start_with(2);
    tables_ = {{{60}, {41}}};
    for (const int server : {0, 1}) learn(server);
    tables_[1] = {0, 41};
    int answers = 0;
    before_answer_ = [&] {
        if (++answers == 3) tables_ = {{{0, 60}, {60, 41}}};
        if (answers == 5) tables_ = {{{60, 60}, {0, 101}}};
    };
    report.check();
    EXPECT_THAT(turns_, ElementsAre(ReportLock::takes, ReportLock::gives_back));
}

TEST_F(Reports, WhatAServerAloneRefuses) {
    auto& report = start_with(1);
    refuse(0, channel_->open(0, MessageKind::pull), "full", true);
    channel_->progress();
    EXPECT_EQ(message_of<ServerError>([&] { report.check(); }), "parameter server 0: full");
    EXPECT_THAT(turns_, ElementsAre(ReportLock::takes));
    EXPECT_EQ(rounds_[0], 1);
}

TEST_F(Reports, WhatOthersHaveBroughtWhenItIsAskedFor) {
    auto& report = start_with(2);
    tables_ = {{{60}, {41}}};
    EXPECT_THAT(message_of<DictSizeError>([&] { report.renew_sizes(); }), HasSubstr("101 distinct ids"));
    const auto rounds = rounds_;
    report.renew_sizes();
    EXPECT_EQ(rounds_, rounds) << "it is told";
}

TEST_F(Reports, NothingMoreThanOneServerRefusesByItself) {
    auto& report = start_with(1);
    report.renew_sizes();
    EXPECT_EQ(rounds_[0], 0);
}

}  // namespace
}  // namespace dtrain::ps
