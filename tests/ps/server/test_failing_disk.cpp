// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: of what fails, the trainer is told that asked for it, whoever's message it was that made it due.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/small_server.hpp"
#include "ps/table/spilled_table.hpp"
#include "support/small_files.hpp"

namespace dtrain::ps {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class FailingDisk : public testing::Test {
  protected:
    FailingDisk() {
        std::vector<ServerTable> tables;
        tables.push_back(
            {SparseTable(tests::spilled_options(Sgd{1}), SpillOptions{folder_.path(), tests::little_memory}),
             ""});
        auto& table = tables.back().table;
        constexpr std::uint64_t batch = 100;
        for (std::uint64_t first = 0; first < 6000; first += batch) {
            tests::Ids ids;
            for (auto n = first; n < first + batch; ++n) ids.push_back(tests::id_of(n));
            const tests::Floats gradients(4 * ids.size());
            const tests::Floats seen(ids.size(), 1);
            table.push({ids, gradients, seen, seen});
        }
        EXPECT_GT(table.rows_on_disk(), 1000U);
        server_.emplace(ServerOptions{.trainers = {1, 2}}, two_zeros(2), std::move(tables), *transports_[0]);
        for (const int rank : {1, 2}) {
            auto join = message(rank, {.kind = MessageKind::join});
            join.add_text("");
            send(std::move(join));
            EXPECT_EQ(next_answer(rank), "accept of 0");
        }
    }

    MessageWriter message(int rank, const MessageHeader& header) {
        return {*transports_[static_cast<std::size_t>(rank)], header};
    }
    void send(MessageWriter&& writer) {
        writer.send(0);
        server_->take(std::move(*transports_[0]->receive()));
    }
    void push(int rank) { send(message(rank, {.kind = MessageKind::push, .steps = 1})); }

    /// "KIND of REQUEST", and the text of failures; "" when nothing has come.
    std::string next_answer(int rank) {
        const auto answer = transports_[static_cast<std::size_t>(rank)]->receive();
        if (!answer) return "";
        const MessageReader reader(answer->content.bytes());
        auto text =
            std::string(to_string(reader.header().kind)) + " of " + std::to_string(reader.header().request);
        if (reader.header().kind == MessageKind::failed) text += ": " + std::string(reader.text());
        return text;
    }

    tests::TemporaryFolder folder_;
    std::vector<std::unique_ptr<comm::Transport>> transports_ = comm::local_transports(3);
    std::optional<Server> server_;
};

TEST_F(FailingDisk, ADayThatFailsIsToldToWhoBeginsIt) {
    auto day = message(1, {.kind = MessageKind::day, .step = 1, .request = 7});
    day.add_day(3, true);
    send(std::move(day));
    push(1);
    EXPECT_EQ(next_answer(1), "");
    {
        const tests::SmallFiles disk(20'000);
        push(2);
    }
    const auto answer = next_answer(1);
    EXPECT_THAT(answer, StartsWith("failed of 7: rows of a sparse table cannot be written to disk"));
    EXPECT_THAT(answer, HasSubstr("File too large"));
    EXPECT_EQ(next_answer(2), "");
}

}  // namespace
}  // namespace dtrain::ps
