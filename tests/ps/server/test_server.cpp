// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a server without its loop, to which the test writes messages by hand: what each mode applies and
// when it answers; SGD with rate 1, so that parameters are minus the sum of the gradients.
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/server/serve.hpp"
#include "ps/small_server.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* server_layout = "mode x\ntable t\n";

class ServerTest : public testing::Test {
  protected:
    void start(ServerMode mode, std::int64_t staleness = 0, int trainers = 2,
               const TableOptions& table = {.dict_size = 3}) {
        ServerOptions options{.mode = mode,
                              .staleness = staleness,
                              .layout = server_layout,
                              .reject_not_finite = table.reject_not_finite};
        for (int rank = 1; rank <= trainers; ++rank) options.trainers.push_back(rank);
        auto tables = one_table(table);
        if (adjust_.schedule) tables[0].learning_rate = "learning_rate";
        server_.emplace(options, two_zeros(mode == ServerMode::sync ? trainers : 1, adjust_),
                        std::move(tables), *transports_[0]);
        for (int rank = 1; rank <= trainers; ++rank) join(rank);
        for (int rank = 1; rank <= trainers; ++rank) EXPECT_EQ(next_answer(rank), "accept 0");
    }

    void give() {
        while (auto message = transports_[0]->receive()) take_and_answer(*server_, std::move(*message));
    }

    MessageWriter message(int rank, const MessageHeader& header) {
        return {*transports_[static_cast<std::size_t>(rank)], header};
    }
    void send(MessageWriter&& writer) {
        writer.send(0);
        give();
    }

    void join(int rank, const std::string& text = server_layout) {
        auto writer = message(rank, {.kind = MessageKind::join});
        writer.add_text(text);
        send(std::move(writer));
    }

    void push(int rank, float gradient, std::uint32_t steps = 1, std::int64_t id = 5) {
        auto writer = message(rank, {.kind = MessageKind::push, .steps = steps, .request = 3});
        std::ranges::fill(writer.add_dense(0, 2), gradient);
        const auto rows = writer.add_rows(0, 1, 1);
        rows.ids[0] = id;
        rows.values[0] = gradient;
        send(std::move(writer));
    }

    void pull(int rank, std::int64_t step) {
        auto writer = message(rank, {.kind = MessageKind::pull, .step = step});
        writer.ask_dense(0, 2);
        writer.ask_rows(0, 1, false)[0] = 5;
        send(std::move(writer));
    }

    /// A row of a table with statistics.
    void push_shown(int rank, float shows, float clicks, std::int64_t id = 5) {
        auto writer = message(rank, {.kind = MessageKind::push, .steps = 1, .request = 3});
        const auto rows = writer.add_rows(0, 1, 3);
        rows.ids[0] = id;
        std::ranges::copy(std::vector<float>{1, shows, clicks}, rows.values.begin());
        send(std::move(writer));
    }

    void begin_day(int rank, std::int64_t step, std::uint32_t day, bool shrinks) {
        auto writer = message(rank, {.kind = MessageKind::day, .step = step});
        writer.add_day(day, shrinks);
        send(std::move(writer));
    }

    /// "ID SHOWS CLICKS DAY" of each row.
    std::vector<std::string> statistics() {
        std::vector<std::string> rows;
        server_->tables()[0].for_each([&](const TableRow& row) {
            rows.push_back(fmt::format("{} {} {} {}", row.id, row.shows, row.clicks, row.last_day));
        });
        return rows;
    }

    void save(int rank, std::int64_t step) {
        auto writer = message(rank, {.kind = MessageKind::save, .step = step, .request = 9});
        writer.add_text("somewhere");
        send(std::move(writer));
    }

    void ask_sizes(int rank, ReportLock turn) {
        send(message(rank, {.kind = MessageKind::sizes, .steps = static_cast<std::uint32_t>(turn)}));
    }

    /// "KIND" and what the message says of the table: "ROWS" or "ROWS-EVICTED".
    std::string next_sizes(int rank) {
        const auto answer = transports_[static_cast<std::size_t>(rank)]->receive();
        if (!answer) return "";
        MessageReader reader(answer->content.bytes());
        std::string text(to_string(reader.header().kind));
        while (const auto section = reader.next()) {
            if (section->table != 0) continue;
            text += fmt::format(" {}", section->first);
            if (section->payload.empty()) text += fmt::format("-{}", section->count);
        }
        return text;
    }

    void idle(int rank) { send(message(rank, {.kind = MessageKind::idle})); }

    void leave(int rank) { send(message(rank, {.kind = MessageKind::leave})); }

    /// "values DENSE ROW", "accept STEP", "failed TEXT" ...; "" when nothing has come.
    std::string next_answer(int rank) {
        const auto answer = transports_[static_cast<std::size_t>(rank)]->receive();
        if (!answer) return "";
        MessageReader reader(answer->content.bytes());
        std::string text(to_string(reader.header().kind));
        if (reader.header().kind == MessageKind::failed || reader.header().kind == MessageKind::saved)
            return text + " " + std::string(reader.text());
        if (reader.header().kind == MessageKind::accept || reader.header().kind == MessageKind::begun)
            return text + " " + std::to_string(reader.header().step);
        while (const auto section = reader.next())
            if (!section->payload.empty())
                text += " " + std::to_string(static_cast<int>(section->floats(section->count)[0]));
        return text;
    }

    std::vector<std::unique_ptr<comm::Transport>> transports_ = comm::local_transports(5);
    std::optional<Server> server_;
    OptimizerOptions adjust_;  ///< before start()
};

TEST_F(ServerTest, SyncWaitsForTheStepsOfAll) {
    start(ServerMode::sync);
    push(1, 1);
    pull(1, 1);
    EXPECT_EQ(next_answer(1), "");
    EXPECT_THAT(server_->missing_trainers(), ElementsAre(1));
    pull(2, 0);
    EXPECT_EQ(next_answer(2), "values 0 0");
    push(2, 10);
    EXPECT_EQ(next_answer(1), "values -11 -11");
    EXPECT_EQ(server_->steps(), 1);
    EXPECT_THAT(server_->missing_trainers(), ElementsAre());
}

TEST_F(ServerTest, AnAnswerThatIsTooLongIsRefusedAndHoldsUpNobodyElse) {
    transports_ = comm::local_transports(5, 1400);
    start(ServerMode::sync, 0, 2, {});
    auto request = message(1, {.kind = MessageKind::pull, .step = 1});
    for (int i = 0; i < 40; ++i) request.ask_dense(0, 2);  // 32 bytes each, and 40 with the values
    send(std::move(request));
    EXPECT_EQ(next_answer(1), "");
    push(1, 1);
    push(2, 1);  // its message makes the answer due
    EXPECT_EQ(next_answer(1),
              "failed a 'values' for rank 1 has 1632 bytes, and one message has 1400 at most: use more "
              "servers, a smaller batch, or a shorter wire ([servers] wire = \"bfloat16\")");
    EXPECT_EQ(next_answer(2), "");
    pull(2, 1);
    EXPECT_EQ(next_answer(2), "values -2 -2");
}

TEST_F(ServerTest, TellsTheSizesOfTablesThatHaveALimit) {
    start(ServerMode::async, 0, 2,
          {.dict_size = 9, .statistics = RowStatistics{.decay = 1, .least_score = 0.15}});
    pull(1, 0);  // asks for dense parameters, too
    EXPECT_EQ(next_sizes(1), "values 1 1-0");
    push_shown(1, 1, 0, 6);
    EXPECT_EQ(next_sizes(1), "applied 2-0");
    push_shown(2, 9, 0, 7);
    EXPECT_EQ(next_sizes(2), "applied 3-0");
    begin_day(1, 0, 1, true);
    EXPECT_EQ(next_answer(1), "begun 2");
    ask_sizes(2, ReportLock::none);
    EXPECT_EQ(next_sizes(2), "sized 1-2");
    start(ServerMode::async, 0, 2, {});
    pull(1, 0);
    EXPECT_EQ(next_sizes(1), "values 1");
    ask_sizes(2, ReportLock::none);
    EXPECT_EQ(next_sizes(2), "sized");
}

TEST_F(ServerTest, OneTrainerAfterTheOtherHasTheTurnToSayThatATableIsFull) {
    start(ServerMode::async, 0, 4);
    for (const int rank : {2, 1, 2, 3, 4}) ask_sizes(rank, ReportLock::takes);
    EXPECT_EQ(next_answer(2), "sized");
    EXPECT_EQ(next_answer(2), "sized");  // has it
    ask_sizes(1, ReportLock::none);
    EXPECT_EQ(next_answer(1), "sized");  // that one alone
    EXPECT_EQ(next_answer(1), "");
    ask_sizes(4, ReportLock::gives_back);  // has none
    EXPECT_EQ(next_answer(4), "sized");
    EXPECT_EQ(next_answer(4), "");
    ask_sizes(2, ReportLock::gives_back);
    EXPECT_EQ(next_answer(2), "sized");
    EXPECT_EQ(next_answer(1), "sized");
    EXPECT_EQ(next_answer(3), "");
    leave(3);
    EXPECT_EQ(next_answer(3), "farewell");
    leave(1);
    EXPECT_EQ(next_answer(1), "farewell");
    EXPECT_EQ(next_answer(4), "sized");
}

TEST_F(ServerTest, AStepOfSeveralMessagesIsAppliedAtItsEnd) {
    for (const auto mode : {ServerMode::sync, ServerMode::async, ServerMode::half_async}) {
        start(mode, 0, 1);
        push(1, 1, 0);
        push(1, 2, 0);
        pull(1, 0);
        EXPECT_EQ(next_answer(1), "values 0 0") << to_string(mode);
        push(1, 4, 1);
        pull(1, 1);
        std::string last;
        for (auto each = next_answer(1); !each.empty(); each = next_answer(1)) last = each;
        // Of the same dense elements the last message counts; gradients of a row are added.
        EXPECT_EQ(last, "values -4 -7") << to_string(mode);
    }
}

TEST_F(ServerTest, AsyncAppliesAndAnswersAtOnce) {
    start(ServerMode::async);
    push(1, 1);
    EXPECT_EQ(next_answer(1), "applied");
    pull(2, 100);
    EXPECT_EQ(next_answer(2), "values -1 -1");
    push(2, 3, 7);
    EXPECT_EQ(next_answer(2), "applied");
    EXPECT_EQ(server_->steps(), 2);
}

TEST_F(ServerTest, HalfAsyncAnswersWhenNobodyIsTooFarBehind) {
    start(ServerMode::half_async, 2);
    for (int step = 0; step < 3; ++step) push(1, 1);
    for (int step = 0; step < 3; ++step) EXPECT_EQ(next_answer(1), "applied");
    pull(1, 2);
    EXPECT_EQ(next_answer(1), "values -3 -3");
    pull(1, 3);
    EXPECT_EQ(next_answer(1), "");
    EXPECT_THAT(server_->missing_trainers(), ElementsAre(1));
    push(2, 1);
    EXPECT_EQ(next_answer(1), "values -4 -4");
}

TEST_F(ServerTest, AnIdleTrainerCountsAsOneWithZerosForOneStep) {
    start(ServerMode::sync);
    push(1, 1);
    pull(1, 1);
    EXPECT_EQ(next_answer(1), "");
    idle(2);
    EXPECT_EQ(next_answer(1), "values -1 -1");
    EXPECT_EQ(server_->steps(), 1);
    push(1, 1);
    pull(1, 2);
    EXPECT_EQ(next_answer(1), "");  // for the next step it is waited again
    push(2, 10);
    EXPECT_EQ(next_answer(1), "values -12 -12");
    idle(1);
    pull(1, 3);
    EXPECT_EQ(next_answer(1), "");
    push(2, 10);
    EXPECT_EQ(next_answer(1), "values -22 -22");
}

TEST_F(ServerTest, HalfAsyncDoesNotWaitForAnIdleTrainersStep) {
    start(ServerMode::half_async);
    push(1, 1);
    EXPECT_EQ(next_answer(1), "applied");
    pull(1, 1);
    EXPECT_EQ(next_answer(1), "");
    idle(2);
    EXPECT_EQ(next_answer(1), "values -1 -1");
    EXPECT_EQ(server_->steps(), 1);  // it is no update
}

TEST_F(ServerTest, NobodyIsIdleWithinAStep) {
    start(ServerMode::sync);
    push(1, 1, 0);
    idle(1);
    EXPECT_EQ(next_answer(1), "failed an 'idle' of trainer 0 within a step of its own");
    send(message(1, {.kind = MessageKind::push, .steps = 1}));
    push(2, 1);
    pull(1, 1);
    EXPECT_EQ(next_answer(1), "values -2 -2");
}

TEST_F(ServerTest, AStepBeforeAllStepsIsDue) {
    for (const auto mode : {ServerMode::sync, ServerMode::async, ServerMode::half_async, ServerMode::geo}) {
        start(mode, 2);
        pull(1, std::numeric_limits<std::int64_t>::min());
        EXPECT_EQ(next_answer(1), "values 0 0") << to_string(mode);
    }
}

TEST_F(ServerTest, AnswersThatHaveBecomeDueGoToTheTrainersInTurn) {
    start(ServerMode::sync);
    constexpr int many = 100;
    for (int i = 0; i < many; ++i) pull(1, 1);
    pull(2, 1);
    push(1, 1);
    message(2, {.kind = MessageKind::push, .steps = 1}).send(0);
    server_->take(std::move(*transports_[0]->receive()));
    EXPECT_EQ(next_answer(2), "values -1 -1");  // before another message is taken
    EXPECT_EQ(next_answer(1), "values -1 -1");
    EXPECT_EQ(next_answer(1), "");
    while (server_->go_on_answering()) continue;
    EXPECT_EQ(server_->waiting_pulls(), 0U);
    for (int i = 1; i < many; ++i) EXPECT_EQ(next_answer(1), "values -1 -1");
    EXPECT_EQ(next_answer(1), "");
}

TEST_F(ServerTest, ATrainerWithManyMessagesHoldsUpNoOther) {
    start(ServerMode::async);
    constexpr int many = 1000;
    for (int i = 0; i < many; ++i) {
        auto writer = message(1, {.kind = MessageKind::push, .steps = 1});
        std::ranges::fill(writer.add_dense(0, 2), 1.0F);
        writer.send(0);
    }
    auto asks = message(2, {.kind = MessageKind::pull});
    asks.ask_dense(0, 2);
    asks.send(0);
    for (const int rank : {1, 2}) message(rank, {.kind = MessageKind::leave}).send(0);
    serve(*server_, *transports_[0]);
    EXPECT_EQ(server_->steps(), many);
    const auto answer = transports_[2]->receive();
    MessageReader reader(answer->content.bytes());
    EXPECT_LE(reader.header().step, static_cast<std::int64_t>(9 * transports_.size()));
}

TEST_F(ServerTest, WhoLeavesIsWaitedForNoLonger) {
    start(ServerMode::sync);
    push(1, 1);
    pull(1, 1);
    push(2, 50, 0);  // a step that never ends does not count
    leave(2);
    EXPECT_EQ(next_answer(2), "farewell");
    EXPECT_EQ(next_answer(1), "values -1 -1");
    push(1, 2);
    pull(1, 2);
    EXPECT_EQ(next_answer(1), "values -3 -3");
    EXPECT_FALSE(server_->is_done());
    pull(1, 3);
    leave(1);
    EXPECT_EQ(next_answer(1), "farewell");
    EXPECT_TRUE(server_->is_done());
}

TEST_F(ServerTest, RefusesAnotherLayout) {
    start(ServerMode::sync, 0, 2);
    server_.reset();
    server_.emplace(ServerOptions{.trainers = {1}, .layout = server_layout}, two_zeros(1),
                    std::vector<ServerTable>(), *transports_[0]);
    join(1, "mode x\ntable u\n");
    EXPECT_EQ(next_answer(1),
              "failed trainer and server were started with different programs or options: the server has "
              "'table t' where the trainer has 'table u'");
    join(1, "mode x\n");
    EXPECT_THAT(next_answer(1), HasSubstr("'table t' where the trainer has 'nothing'"));
    pull(1, 0);
    EXPECT_EQ(next_answer(1), "failed a 'pull' of trainer 0, which has not joined");
    join(1);
    EXPECT_EQ(next_answer(1), "accept 0");
    join(1);
    EXPECT_EQ(next_answer(1), "failed a second 'join' of trainer 0");
    join(3);
    EXPECT_EQ(next_answer(3), "failed rank 3 is no trainer of this job");
}

TEST_F(ServerTest, SchedulesCountTheStepsThatAPushEnds) {
    adjust_.schedule = LearningRateSchedule{PiecewiseRate{.boundaries = {4}, .values = {1, 100}}};
    start(ServerMode::async);
    push(1, 1, 3);  // the first three steps, at the rate of the first
    push(2, 1, 2);  // the fourth and the fifth, at the rate of the fourth
    for (const int rank : {1, 2}) EXPECT_EQ(next_answer(rank), "applied");
    pull(1, 0);
    EXPECT_EQ(next_answer(1), "values -2 -2");
    push(1, 1, 1);
    EXPECT_EQ(next_answer(1), "applied");
    pull(1, 0);
    EXPECT_EQ(next_answer(1), "values -102 -102");
    EXPECT_EQ(server_->steps(), 3) << "updates";
}

TEST_F(ServerTest, RefusesWhatDoesNotFitAndGoesOn) {
    start(ServerMode::async, 0, 1);
    auto outside = message(1, {.kind = MessageKind::push, .steps = 1});
    outside.add_dense(1, 2);
    send(std::move(outside));
    EXPECT_EQ(next_answer(1), "failed gradients of elements 1 to 3 of 2");
    send(message(1, {.kind = MessageKind::push, .steps = 1'000'001}));
    EXPECT_EQ(next_answer(1), "failed a push that ends 1000001 steps, and at most 1000000 end with one");
    auto unknown = message(1, {.kind = MessageKind::push, .steps = 1});
    unknown.add_rows(1, 1, 1);
    send(std::move(unknown));
    EXPECT_EQ(next_answer(1), "failed table 1 of 1");
    auto wide = message(1, {.kind = MessageKind::push, .steps = 1});
    wide.add_rows(0, 1, 4);
    send(std::move(wide));
    EXPECT_THAT(next_answer(1), HasSubstr("failed a section of 1 has 24 bytes"));
    auto far = message(1, {.kind = MessageKind::pull});
    far.ask_dense(UINT64_MAX, 1);
    send(std::move(far));
    EXPECT_THAT(next_answer(1), HasSubstr("failed elements 18446744073709551615"));
    send(message(1, {.kind = MessageKind::values}));
    EXPECT_EQ(next_answer(1), "failed a server gets no 'values'");
    auto save = message(1, {.kind = MessageKind::save});
    save.add_text("/somewhere");
    send(std::move(save));
    EXPECT_EQ(next_answer(1), "failed this server keeps no checkpoints");
    EXPECT_EQ(server_->counts().refused, 7U);
    push(1, 2);
    EXPECT_EQ(next_answer(1), "applied");
    pull(1, 1);
    EXPECT_EQ(next_answer(1), "values -2 -2");
}

TEST_F(ServerTest, RefusesToPutTogetherWhatIsFarTooLong) {
    start(ServerMode::sync, 0, 1, {});
    server_.reset();
    std::vector<ServerTable> wide;
    wide.push_back({SparseTable({.name = "t", .width = 1U << 20U}), ""});
    server_.emplace(ServerOptions{.trainers = {1}, .layout = server_layout}, two_zeros(1), std::move(wide),
                    *transports_[0]);
    join(1);
    EXPECT_EQ(next_answer(1), "accept 0");
    auto request = message(1, {.kind = MessageKind::pull});
    for (std::int64_t part = 0; part < 2; ++part) {
        const auto ids = request.ask_rows(0, 600, false);
        for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = 600 * part + static_cast<std::int64_t>(i);
    }
    send(std::move(request));
    EXPECT_THAT(next_answer(1),
                HasSubstr("failed a 'values' for rank 1 has 5033164800 bytes, and one message has "
                          "4294967294 at most: use more servers, a smaller batch"));
    EXPECT_EQ(server_->tables()[0].size(), 0U);
}

/// Saves in two pieces how many steps the server had.
class StepSaver final : public Saver {
  public:
    explicit StepSaver(const Server& server) : server_(server) {}
    void begin(const std::string& request) override {
        info_ = request + " " + std::to_string(server_.steps());
        pieces_ = 2;
    }
    bool step() override { return pieces_ > 0 && pieces_-- > 0; }
    bool is_written() const override { return pieces_ == 0; }
    std::string finish() override { return info_; }

  private:
    const Server& server_;
    std::string info_;
    int pieces_ = 0;
};

TEST_F(ServerTest, SavesTheStepThatTheTrainerStandsAt) {
    start(ServerMode::sync);
    server_->save_by(std::make_unique<StepSaver>(*server_));
    push(1, 1);
    save(1, 1);
    EXPECT_FALSE(server_->go_on_with_save());
    EXPECT_EQ(next_answer(1), "");
    EXPECT_THAT(server_->missing_trainers(), ElementsAre(1));
    push(2, 10);
    EXPECT_EQ(next_answer(1), "saving");
    push(1, 1);
    push(2, 1);
    pull(2, 2);
    EXPECT_EQ(next_answer(2), "values -13 -13");
    for (int piece = 0; piece < 2; ++piece) {
        EXPECT_TRUE(server_->go_on_with_save());
        EXPECT_EQ(next_answer(1), "");
    }
    EXPECT_TRUE(server_->go_on_with_save());
    EXPECT_EQ(next_answer(1), "saved somewhere 1");
    EXPECT_FALSE(server_->go_on_with_save());
}

TEST_F(ServerTest, DoesNotAnswerWhoLeftWhileItSaved) {
    start(ServerMode::async);
    server_->save_by(std::make_unique<StepSaver>(*server_));
    save(1, 0);
    leave(1);
    EXPECT_EQ(next_answer(1), "saving");
    EXPECT_EQ(next_answer(1), "farewell");
    while (server_->go_on_with_save()) continue;
    EXPECT_EQ(next_answer(1), "");
    save(2, 0);
    EXPECT_EQ(next_answer(2), "saving");
}

TEST_F(ServerTest, SavesAtOnceInTheOtherModes) {
    for (const auto mode : {ServerMode::async, ServerMode::half_async}) {
        start(mode);
        server_->save_by(std::make_unique<StepSaver>(*server_));
        save(1, 100);
        EXPECT_EQ(next_answer(1), "saving") << to_string(mode);
    }
}

TEST_F(ServerTest, SaysThatATableIsFull) {
    start(ServerMode::async, 0, 1);
    for (std::int64_t id = 0; id < 3; ++id) push(1, 1, 1, id);
    for (std::int64_t id = 0; id < 3; ++id) EXPECT_EQ(next_answer(1), "applied");
    pull(1, 0);  // of a fourth id
    EXPECT_THAT(next_answer(1), HasSubstr("failed table 't'"));
    push(1, 1, 1, 1);
    EXPECT_EQ(next_answer(1), "applied");
    push(1, 1, 1, 77);
    EXPECT_THAT(next_answer(1), HasSubstr("failed table 't'"));
    // Its other half is in the parameters: nothing is given away any more.
    pull(1, 0);
    EXPECT_THAT(next_answer(1), HasSubstr("failed table 't'"));
}

TEST_F(ServerTest, CountsShowsAndClicks) {
    start(ServerMode::sync, 0, 2, {.statistics = RowStatistics{}});
    push_shown(1, 3, 1);
    push_shown(2, 2, 2);
    push_shown(1, 1, 0);
    push_shown(2, 5, 0, 6);
    EXPECT_THAT(statistics(), testing::UnorderedElementsAre("5 6 3 0", "6 5 0 0"));
    pull(1, 2);
    EXPECT_EQ(next_answer(1), "values 0 -3");
}

TEST_F(ServerTest, ADayBeginsWhenItsStepIsThere) {
    // Of 3 shows without a click the score is 0.3 after a decay that changes nothing, of one click 1.
    start(ServerMode::sync, 0, 2, {.statistics = RowStatistics{.decay = 1}});
    push_shown(1, 3, 0);
    begin_day(1, 1, 7, true);
    EXPECT_EQ(next_answer(1), "");
    push_shown(2, 1, 1, 6);
    EXPECT_EQ(next_answer(1), "begun 1");
    EXPECT_THAT(statistics(), ElementsAre("6 1 1 0"));
    push_shown(1, 1, 0);
    push_shown(2, 1, 0, 6);
    begin_day(2, 2, 8, false);
    EXPECT_EQ(next_answer(2), "begun 0");
    EXPECT_THAT(statistics(), testing::UnorderedElementsAre("6 2 1 7", "5 1 0 7"));
    send(message(1, {.kind = MessageKind::day, .step = 2}));
    EXPECT_EQ(next_answer(1), "failed a 'day' without its number");
}

TEST_F(ServerTest, RefusesShowsThatAreNoCounts) {
    start(ServerMode::async, 0, 1, {.statistics = RowStatistics{}});
    push_shown(1, -1, 0);
    EXPECT_EQ(next_answer(1), "failed a row with -1 shows and 0 clicks, which are no counts");
    push_shown(1, 1, std::numeric_limits<float>::quiet_NaN());
    EXPECT_EQ(next_answer(1), "failed a row with 1 shows and nan clicks, which are no counts");
    push(1, 1);  // without any
    EXPECT_THAT(next_answer(1), HasSubstr("failed a section of 1 has 16 bytes"));
    EXPECT_THAT(statistics(), ElementsAre());
}

TEST_F(ServerTest, RejectsGradientsThatAreNotFinite) {
    const auto nan = std::numeric_limits<float>::quiet_NaN();
    for (const auto mode : {ServerMode::sync, ServerMode::async}) {
        start(mode, 0, 2, {.reject_not_finite = true});
        push(1, nan);
        push(2, 2);
        pull(2, 1);
        std::string last;
        for (auto each = next_answer(2); !each.empty(); each = next_answer(2)) last = each;
        EXPECT_EQ(last, "values -2 -2") << to_string(mode);
        EXPECT_EQ(server_->counts().dense_rejected, 1U);
        EXPECT_EQ(server_->tables()[0].counts().rejected, 1U);
        while (!next_answer(1).empty()) continue;
    }
    start(ServerMode::async, 0, 1, {.reject_not_finite = true});
    auto halves = message(1, {.kind = MessageKind::push, .steps = 1});
    halves.add_dense(0, 1)[0] = 1;
    halves.add_dense(1, 1)[0] = -std::numeric_limits<float>::infinity();
    send(std::move(halves));
    EXPECT_EQ(next_answer(1), "applied");
    pull(1, 1);
    EXPECT_EQ(next_answer(1), "values 0 0");  // none of what the trainer had for this server
}

TEST_F(ServerTest, GivesUpOnTrainersThatDoNotComeAndSaysWhich) {
    using namespace std::chrono_literals;
    start(ServerMode::sync);
    pull(1, 1);  // rows of the next step, which it computes
    pull(2, 1);
    std::this_thread::sleep_for(1100ms);
    server_->give_up_after(1s);
    EXPECT_EQ(next_answer(1) + next_answer(2), "");
    push(1, 1);
    server_->give_up_after(0s);
    EXPECT_EQ(next_answer(1), "");
    server_->give_up_after(1s);
    EXPECT_EQ(next_answer(1), "failed waited 1 s in vain for the gradients of trainer 1 (rank 2)");
    push(2, 1);
    EXPECT_THAT(next_answer(2), HasSubstr("failed waited 1 s in vain"));
}

TEST_F(ServerTest, ATrainerThatEndsWithoutLeavingEndsTheServerAMomentLater) {
    using namespace std::chrono_literals;
    start(ServerMode::sync);
    std::vector<std::string> failures;
    server_->on_failure([&](std::string_view why) { failures.emplace_back(why); });
    pull(1, 1);
    send(message(2, {.kind = MessageKind::abandon}));
    server_->end_when_abandoned();  // whoever failed ends the job itself
    EXPECT_EQ(next_answer(1) + next_answer(2), "");
    std::this_thread::sleep_for(3100ms);
    EXPECT_EQ(tests::message_of<Error>([&] { server_->end_when_abandoned(); }),
              "trainer 1 (rank 2) has ended without leave(): it failed, or forgot it");
    server_->report_end("why");
    EXPECT_EQ(next_answer(1), "failed why");
    EXPECT_EQ(next_answer(2), "") << "it is gone";
    EXPECT_FALSE(server_->is_done());
    EXPECT_THAT(failures, ElementsAre()) << "the server refused nothing";
}

TEST_F(ServerTest, WhoeverHasLeftMayEnd) {
    using namespace std::chrono_literals;
    start(ServerMode::sync);
    leave(2);
    EXPECT_EQ(next_answer(2), "farewell");
    send(message(2, {.kind = MessageKind::abandon}));
    std::this_thread::sleep_for(3100ms);
    server_->end_when_abandoned();
}

TEST_F(ServerTest, WhatItRefusesIsToldHereToo) {
    start(ServerMode::sync);
    std::vector<std::string> failures;
    server_->on_failure([&](std::string_view why) { failures.emplace_back(why); });
    send(message(1, {.kind = MessageKind::values}));
    save(1, 0);
    EXPECT_THAT(failures, ElementsAre("a server gets no 'values'", "this server keeps no checkpoints"));
}

TEST(IdleSleep, GrowsWithTheTimeThatNothingCame) {
    using namespace std::chrono_literals;
    EXPECT_EQ(IdleSleep::after(50us), 0ns);
    EXPECT_EQ(IdleSleep::after(800us), 100us);
    EXPECT_EQ(IdleSleep::after(1h), 2ms);
}

}  // namespace
}  // namespace dtrain::ps
