// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: SGD with rate 1, so that parameters and rows are minus the sums of the gradients that were set.
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/small_server.hpp"
#include "ps/wire/sent_message.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;
using Ids = std::vector<std::int64_t>;
using Values = std::vector<float>;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

class Held : public testing::Test {
  protected:
    void start(int sources, const TableOptions& table = {}, bool reject_not_finite = false) {
        counts_ = {};
        held_.emplace(two_zeros(sources), one_table(table), 1, reject_not_finite, counts_);
    }

    static Push push_of(DenseGradients dense) { return {.message = {}, .parts = {dense}}; }
    static Push push_of(const RowGradients& rows) { return {.message = {}, .parts = {rows}}; }

    template <class... Pushes>
    void set(int source, Pushes... pushes) {
        std::vector<Push> step;
        (step.push_back(std::move(pushes)), ...);
        held_->set_gradients(source, step);
    }

    /// The sections of an answer, as "FIRST=VALUES": of rows the table's size stands first; of a size alone
    /// the number of evicted rows behind it.
    std::string answer_to(const AskedValues& request) {
        SentMessage sent(MessageKind::values);
        held_->write_values(request, sent.writer());
        const auto message = sent.message();
        MessageReader reader(message.content.bytes());
        std::string text;
        while (const auto section = reader.next()) {
            text += fmt::format("{}=", section->first);
            text += section->payload.empty()
                        ? fmt::format("-{} ", section->count)
                        : fmt::format("{} ", fmt::join(section->floats(section->count), ","));
        }
        return text;
    }
    std::string answer_with_rows(const Ids& ids, bool reads_only = false) {
        return answer_to({.parts = {AskedRows{0, ids, reads_only}}});
    }
    std::string dense() { return answer_to({.parts = {DenseRange{0, 2}}, .asks_dense = true}); }

    RequestCounts counts_;
    std::optional<ServerParameters> held_;
    const Ids ids_{5, 6};
    const Values ones_{1, 2};
};

TEST_F(Held, ParametersTakeTheGradientsOfAllSources) {
    start(2);
    set(0, push_of(DenseGradients{0, ones_}), push_of(RowGradients{0, ids_, ones_, true}));
    set(1, push_of(DenseGradients{1, std::span(ones_).first(1)}), push_of({0, ids_, ones_, true}));
    held_->update(1, 1);
    EXPECT_EQ(dense(), "0=-1,-3 ");
    EXPECT_EQ(answer_with_rows({6, 5, 7}), "3=-4,-2,0 ");
    EXPECT_EQ(counts_.keys_pushed, 4U);
    EXPECT_EQ(counts_.keys_pulled, 3U);
}

TEST_F(Held, ASourceThatPushesNothingHasAGradientOfZero) {
    start(1);
    set(0, push_of(DenseGradients{0, ones_}), push_of({0, ids_, ones_, true}));
    held_->update(1, 1);
    set(0);
    held_->update(1, 2);
    EXPECT_EQ(dense(), "0=-1,-2 ");
    EXPECT_EQ(answer_with_rows({6}), "2=-2 ");
}

TEST_F(Held, OneGradientThatIsNotFiniteDropsThoseOfItsSource) {
    const Values wrong{not_a_number};
    start(2, {}, true);
    set(0, push_of(DenseGradients{0, ones_}), push_of(DenseGradients{1, wrong}),
        push_of(DenseGradients{0, ones_}));
    set(1, push_of(DenseGradients{0, ones_}));
    held_->update(1, 1);
    EXPECT_EQ(dense(), "0=-1,-2 ");
    EXPECT_EQ(counts_.dense_rejected, 1U);
    start(1);
    set(0, push_of(DenseGradients{1, wrong}));
    held_->update(1, 1);
    EXPECT_THAT(dense(), HasSubstr("nan")) << "unless the job wants it";
    EXPECT_EQ(counts_.dense_rejected, 0U);
}

TEST_F(Held, AnswersHaveSizesOfTablesWithALimit) {
    start(1, {.dict_size = 3});
    EXPECT_EQ(answer_with_rows({5, 6}), "2=0,0 ");
    EXPECT_EQ(dense(), "0=0,0 2=-0 ");
    EXPECT_EQ(answer_with_rows({7, 8}, true), "2=0,0 ") << "evaluation makes no rows";
    EXPECT_THAT(message_of<DictSizeError>([&] { answer_with_rows({7, 8}); }), HasSubstr("table 't'"));
    EXPECT_EQ(answer_with_rows({7}), "3=0 ");
    start(1);
    EXPECT_EQ(dense(), "0=0,0 ");
}

TEST_F(Held, ADayEvictsRowsOnlyIfTablesShrink) {
    // The score of a row that was shown once is 0.1.
    start(1, {.dict_size = 9, .statistics = RowStatistics{.decay = 1, .least_score = 0.15}});
    const Values shown{1, 1, 0, 2, 9, 0};  // gradient, shows, clicks
    set(0, push_of({0, ids_, shown, true}));
    held_->update(1, 1);
    EXPECT_EQ(held_->begin_day({.day = 4, .shrinks = false}), 0U);
    EXPECT_EQ(held_->tables()[0].day(), 4U);
    EXPECT_EQ(held_->begin_day({.day = 5, .shrinks = true}), 1U);
    EXPECT_EQ(held_->tables()[0].day(), 5U);
    EXPECT_EQ(dense(), "0=0,0 1=-1 ");
}

TEST_F(Held, ShapesAreThoseOfTheParametersAndTables) {
    start(1, {.statistics = RowStatistics{}});
    EXPECT_EQ(held_->shapes().dense, 2U);
    ASSERT_EQ(held_->shapes().tables.size(), 1U);
    EXPECT_EQ(held_->shapes().tables[0].pushed_width(), 3U);
}

}  // namespace
}  // namespace dtrain::ps
