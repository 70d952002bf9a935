// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a SparseTable that gets the same gradients; what servers have and what was not sent always add up
// to a trainer's own weights.
#include <numeric>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/client/local_rows.hpp"
#include "ps/table/sparse_table.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Ids = std::vector<std::int64_t>;
using Floats = std::vector<float>;

constexpr double rate = 0.125;

std::vector<float> read(LocalRows& rows, const Ids& ids, std::size_t width = 1) {
    Floats out(ids.size() * width);
    rows.read(rows.find(ids), out);
    return out;
}

void step(LocalRows& rows, const Ids& ids, const Floats& gradients) {
    rows.add_gradients(rows.find(ids), gradients);
    rows.update(rate, 1);
}

class WithEachOptimizer : public testing::TestWithParam<Optimizer> {};

TEST_P(WithEachOptimizer, UpdatesAreThoseOfATable) {
    constexpr std::size_t width = 3;
    for (const Regularisation& decay :
         {Regularisation(NoDecay{}), Regularisation(L1Decay{0.01}), Regularisation(L2Decay{0.01})}) {
        SparseTable table({.name = "t",
                           .width = width,
                           .initializer = ConstantRow{0.5},
                           .optimizer = GetParam(),
                           .regularisation = decay});
        LocalRows rows(width, GetParam(), decay);
        std::mt19937 random(1);
        std::uniform_int_distribution<std::int64_t> some(-20, 20);
        std::uniform_real_distribution<float> value(-1, 1);
        for (std::int64_t number = 1; number <= 50; ++number) {
            Ids ids(30);
            for (auto& id : ids) id = some(random) * (INT64_MAX / 20);
            Floats gradients(ids.size() * width);
            for (auto& gradient : gradients) gradient = value(random);
            Floats expected(ids.size() * width);
            table.pull(ids, expected);
            const auto found = rows.find(ids);
            const auto requested = rows.ask(found);
            rows.renew(requested, Floats(requested.size() * width, 0.5F));
            rows.keep_all();
            EXPECT_EQ(read(rows, ids, width), expected);
            table.push({.ids = ids, .gradients = gradients}, {.step = number});
            rows.add_gradients(rows.find(ids), gradients);
            rows.update(rows.learning_rate(), number);
        }
        EXPECT_EQ(rows.size(), table.size());
    }
}

INSTANTIATE_TEST_SUITE_P(LocalRows, WithEachOptimizer,
                         testing::Values(Optimizer(Sgd{0.1}), Optimizer(Momentum{.learning_rate = 0.1}),
                                         Optimizer(Momentum{.learning_rate = 0.1, .nesterov = true}),
                                         Optimizer(Adagrad{.learning_rate = 0.1, .initial = 0.5}),
                                         Optimizer(Adam{0.01}), Optimizer(AdamW{.learning_rate = 0.01}),
                                         Optimizer(Ftrl{.l1 = 0.01})));

/// The same rows, which go on from what the optimizer kept and from the servers' weights.
TEST_P(WithEachOptimizer, GoOnFromStatesThatWereSaved) {
    constexpr std::size_t width = 2;
    LocalRows rows(width, GetParam(), NoDecay{});
    Floats changes;
    for (std::int64_t number = 1; number <= 3; ++number) {
        rows.add_gradients(rows.find(Ids{5, -1, 9}), Floats{1, 2, -3, 4, 0.5, -6});
        rows.update(rate, number);
    }
    rows.take_changes(1, changes);
    LocalRows again(width, GetParam(), NoDecay{});
    again.restore(rows.states());
    EXPECT_EQ(again.states().ids, rows.states().ids);
    EXPECT_EQ(again.states().values, rows.states().values);
    const auto requested = again.ask(again.find(Ids{5, -1, 9, 7}));
    EXPECT_EQ(LocalRows::ids_of(requested), (Ids{5, -1, 9, 7}));
    again.renew(requested, read(rows, {5, -1, 9, 7}, width));
    for (auto* const both : {&rows, &again}) {
        both->add_gradients(both->find(Ids{9, 5, 7}), Floats{0.25, 1, 2, -3, 4, 5});
        both->update(rate, 4);
    }
    EXPECT_EQ(read(again, {5, -1, 9, 7}, width), read(rows, {5, -1, 9, 7}, width));
    EXPECT_THAT(tests::message_of([&] { again.restore(rows.states()); }),
                testing::HasSubstr("is there twice"));
    EXPECT_THAT(tests::message_of([&] {
                    LocalRows(width, GetParam(), NoDecay{}).restore({{1}, Floats(99)});
                }),
                testing::HasSubstr("99 numbers of the optimizer for 1 rows"));
}

/// The servers' bits, which the difference from what was sent would only be near.
TEST(LocalRows, ThatHaveNothingToSendAreThoseOfTheServers) {
    LocalRows rows(1, Sgd{1}, NoDecay{});
    const auto requested = rows.ask(rows.find(Ids{5}));
    rows.renew(requested, Floats{1e8F});
    rows.renew(requested, Floats{0.1F});
    EXPECT_THAT(read(rows, {5}), ElementsAre(0.1F));
}

TEST(LocalRows, SendTheirFractionOfWhatWasChangedOnce) {
    LocalRows rows(1, Sgd{1}, NoDecay{});
    const auto requested = rows.ask(rows.find(Ids{5, 6, 7}));
    rows.renew(requested, Floats{10, 20, 30});
    step(rows, {5, 7, 5}, {8, 16, 24});
    step(rows, {5}, {8});
    Floats changes;
    const auto changed = rows.take_changes(0.5F, changes);
    EXPECT_THAT(LocalRows::ids_of(changed), ElementsAre(5, 7));
    EXPECT_THAT(changes, ElementsAre(0.5F * (32 + 8) * 0.125F, 0.5F * 16 * 0.125F));
    EXPECT_THAT(rows.take_changes(0.5F, changes), IsEmpty());
    EXPECT_THAT(read(rows, {5, 6, 7}), ElementsAre(5, 20, 28));
}

TEST(LocalRows, ChangesThatWereNotSentAreAddedToWhateverServersHave) {
    LocalRows rows(1, Sgd{1}, NoDecay{});
    const auto row = rows.find(Ids{-1});
    rows.renew(rows.ask(row), Floats{100});
    step(rows, {-1}, {8});  // 99
    Floats changes;
    const auto changed = rows.take_changes(0.5F, changes);
    step(rows, {-1}, {16});  // 97, of which 2 were not sent
    rows.renew(changed, Floats{60});
    EXPECT_THAT(read(rows, {-1}), ElementsAre(58));
    // An older answer.
    rows.renew(changed, Floats{80});
    EXPECT_THAT(read(rows, {-1}), ElementsAre(78));
    EXPECT_THAT(rows.take_changes(1, changes), testing::SizeIs(1));
    EXPECT_THAT(changes, ElementsAre(2));
}

TEST(LocalRows, AreAskedForOnceUntilChangesAreSent) {
    LocalRows rows(1, Sgd{1}, NoDecay{});
    const Ids ids{1, 2, 1, 3};
    EXPECT_THAT(LocalRows::ids_of(rows.ask(rows.find(ids))), ElementsAre(1, 2, 3));
    EXPECT_THAT(rows.ask(rows.find(ids)), IsEmpty());
    step(rows, {2}, {1});
    Floats changes;
    rows.take_changes(1, changes);
    // The answer to the changes has row 2.
    EXPECT_THAT(LocalRows::ids_of(rows.ask(rows.find(ids))), ElementsAre(1, 3));
    rows.clear_requested();
    EXPECT_THAT(LocalRows::ids_of(rows.ask(rows.find(ids))), ElementsAre(1, 2, 3));
    rows.keep_all();
    rows.clear_requested();
    EXPECT_THAT(rows.ask(rows.find(ids)), IsEmpty());
}

}  // namespace
}  // namespace dtrain::ps
