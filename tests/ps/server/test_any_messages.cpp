// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: whatever messages came, good, changed or cut, a trainer that did nothing wrong is still served; and
// counts, which show that the messages reached what they are for. 20,000 messages, with DTRAIN_STRESS=1
// 400,000; sanitizers see what is read or written beside them.
#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/small_server.hpp"
#include "support/fuzz.hpp"

namespace dtrain::ps {
namespace {

using testing::HasSubstr;

constexpr const char* layout = "mode x\ntable t\n";
constexpr int good_trainer = 3;
constexpr int messages_of_a_server = 500;

class AnyMessages : public testing::TestWithParam<ServerMode> {
  protected:
    void start(bool has_statistics) {
        ServerOptions options{.mode = GetParam(), .staleness = 2, .layout = layout};
        options.trainers = {1, 2, good_trainer};
        const bool is_sync = GetParam() == ServerMode::sync;
        width_ = has_statistics ? 3 : 1;
        server_.emplace(options, two_zeros(is_sync ? 3 : 1), one_table(options_of(has_statistics)),
                        *transports_[0]);
        for (const int rank : {1, 2, good_trainer}) give(rank, join());
        forget_answers();
    }

    static TableOptions options_of(bool has_statistics) {
        TableOptions options;
        if (has_statistics) options.statistics.emplace();
        return options;
    }

    MessageWriter message(MessageKind kind, std::uint32_t steps = 0, std::int64_t step = 0) {
        return {*transports_[1], {.kind = kind, .steps = steps, .step = step, .request = 3}};
    }
    comm::MessageBytes content(MessageWriter&& writer) {
        writer.send(0);
        return std::move(transports_[0]->receive()->content);
    }
    void give(int from, comm::MessageBytes&& content) {
        take_and_answer(*server_, {from, std::move(content)});
    }

    comm::MessageBytes join() {
        auto writer = message(MessageKind::join);
        writer.add_text(layout);
        return content(std::move(writer));
    }
    comm::MessageBytes push(std::uint32_t steps) {
        auto writer = message(MessageKind::push, steps);
        std::ranges::fill(writer.add_dense(0, 2), 0.5F);
        const auto rows = writer.add_rows(0, random_() % 4, width_);
        for (auto& id : rows.ids) id = any_whole();
        std::ranges::fill(rows.values, 1.0F);
        return content(std::move(writer));
    }
    comm::MessageBytes pull(std::int64_t step) {
        auto writer = message(MessageKind::pull, 0, step);
        writer.ask_dense(0, 2);
        for (auto& id : writer.ask_rows(0, random_() % 4, one_in(2))) id = any_whole();
        return content(std::move(writer));
    }
    comm::MessageBytes day() {
        auto writer = message(MessageKind::day, 0, any_step());
        writer.add_day(static_cast<std::uint32_t>(random_()), one_in(2));
        return content(std::move(writer));
    }
    comm::MessageBytes any_message() {
        switch (random_() % 16) {
            case 0:
                return join();
            case 1:
                return day();
            case 2:
                return content(message(MessageKind::count));
            case 3:
                return content(message(MessageKind::save, 0, any_step()));
            case 4:
                return content(message(static_cast<MessageKind>(random_() % 14)));
            case 5:
                return content(message(MessageKind::idle));
            case 6:
            case 7:
            case 8:
                return pull(any_step());
            default:
                return push(static_cast<std::uint32_t>(random_() % 3));
        }
    }

    void damage(comm::MessageBytes& content) {
        const auto bytes = content.bytes();
        for (auto changes = random_() % 4; changes > 0; --changes) {
            // The lowest and highest numbers are where sums overflow.
            static constexpr std::array<std::uint8_t, 4> edges{0, 0x7f, 0x80, 0xff};
            const auto from = one_in(10) ? 0 : 6;  // of another mark or protocol nothing else is looked at
            const auto at = from + random_() % (bytes.size() - from);
            const auto value = one_in(2) ? edges[random_() % 4] : static_cast<std::uint8_t>(random_());
            const auto count = one_in(2) ? std::min<std::size_t>(8, bytes.size() - at) : 1;
            std::ranges::fill(bytes.subspan(at, count), std::byte{value});
        }
        // In memory of exactly that length, so that a sanitizer sees a byte too many.
        comm::MessageBytes exact;
        exact.resize(one_in(4) ? random_() % bytes.size() : bytes.size());
        std::ranges::copy(bytes.first(exact.size()), exact.data());
        content = std::move(exact);
    }

    void forget_answers() {
        for (const auto& transport : transports_)
            while (transport->receive()) continue;
    }

    void expect_service() {
        for (const int rank : {1, 2}) give(rank, content(message(MessageKind::leave)));
        forget_answers();
        give(good_trainer, push(1));
        give(good_trainer, pull(0));
        std::string answers;
        while (const auto answer = transports_[good_trainer]->receive()) {
            const MessageReader reader(answer->content.bytes());
            answers += to_string(reader.header().kind);
            if (reader.header().kind == MessageKind::failed) answers += " " + std::string(reader.text());
            answers += ";";
        }
        EXPECT_THAT(answers, HasSubstr("values;"));
    }

    bool one_in(std::uint64_t times) { return random_() % times == 0; }
    std::int64_t any_whole() {
        static constexpr std::array<std::int64_t, 6> some{0, 1, 5, -1, INT64_MIN, INT64_MAX};
        return one_in(3) ? static_cast<std::int64_t>(random_()) : some[random_() % some.size()];
    }
    std::int64_t any_step() { return one_in(4) ? any_whole() : 0; }

    std::mt19937_64 random_{9};
    std::vector<std::unique_ptr<comm::Transport>> transports_ = comm::local_transports(5);
    std::optional<Server> server_;
    std::uint64_t width_ = 1;
};

TEST_P(AnyMessages, LeaveAServerThatServes) {
    const auto rounds = std::max<std::uint64_t>(5000, tests::rounds());
    std::uint64_t pushes = 0, pulls = 0, refused = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        if (round % messages_of_a_server == 0) start(round / messages_of_a_server % 2 == 1);
        auto content = any_message();
        if (one_in(2)) damage(content);
        const int from = one_in(20) ? 4 : static_cast<int>(1 + random_() % 2);  // 4 is no trainer
        give(from, std::move(content));
        forget_answers();
        if (round % messages_of_a_server != messages_of_a_server - 1) continue;
        expect_service();
        pushes += server_->counts().pushes;
        pulls += server_->counts().pulls;
        refused += server_->counts().refused;
        if (HasFailure()) {
            ADD_FAILURE() << "after " << round + 1 << " messages";
            break;
        }
    }
    EXPECT_GT(pushes, rounds / 20);
    EXPECT_GT(pulls, rounds / 20);
    EXPECT_GT(refused, rounds / 20);
}

INSTANTIATE_TEST_SUITE_P(Modes, AnyMessages,
                         testing::Values(ServerMode::sync, ServerMode::async, ServerMode::half_async,
                                         ServerMode::geo),
                         [](const auto& each) { return to_string(each.param); });

}  // namespace
}  // namespace dtrain::ps
