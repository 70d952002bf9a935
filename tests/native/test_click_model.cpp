// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: sizes worked out by hand; the logit of a linear model as a sum over ids and numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include <dtrain/executor.hpp>

#include "native/click_model.hpp"

namespace dtrain::native {
namespace {

ModelSettings click_through(std::vector<std::int64_t> hidden, std::int64_t width) {
    return {.kind = ModelKind::click_through, .hidden = std::move(hidden), .embedding = width};
}

bool has(const Program& program, const std::string& type) {
    return std::ranges::any_of(program.operators(), [&](const Operator& op) { return op.type == type; });
}

TEST(ClickModel, CountsAndDescribes) {
    const auto model = build_click_model(click_through({64, 32}, 16), {512, 13, 26, 1000}, Adam{}, {1});
    EXPECT_EQ(model.description, "1000 ids x 16, 429-64-32-1 relu");
    EXPECT_EQ(model.parameters, 1000 * 16 + 429 * 64 + 64 + 64 * 32 + 32 + 32 + 1);
    EXPECT_EQ(model.train.variable(fed_ids).shape, (Shape{512, 26}));
    EXPECT_EQ(model.train.variable(fed_dense).shape, (Shape{512, 13}));
    EXPECT_EQ(model.test.variable(fed_weight).shape, (Shape{512}));
    EXPECT_EQ(model.labels, fed_click);
    EXPECT_TRUE(model.correct.empty());
}

TEST(ClickModel, TheTablesGradientsAreSparse) {
    const auto model = build_click_model(click_through({8}, 4), {16, 2, 3, 50}, Adagrad{}, {2});
    EXPECT_TRUE(has(model.train, "embedding_grad_sparse"));
    EXPECT_FALSE(has(model.train, "embedding_grad"));
    EXPECT_FALSE(has(model.test, "embedding_grad_sparse"));
    EXPECT_FALSE(has(model.test, "adagrad"));
}

TEST(ClickModel, WithoutNumbersNoneAreFed) {
    const auto model = build_click_model(click_through({}, 4), {16, 0, 3, 50}, Sgd{}, {1});
    EXPECT_EQ(model.description, "50 ids x 4, 12-1");
    EXPECT_FALSE(model.train.has(fed_dense));
}

// Width 1: the logit is the sum of w[slot] * table[id] and of v[i] * dense[i]; id 3 is the one that nobody
// knows.
TEST(ClickModel, TheLogitOfALinearModel) {
    const auto model = build_click_model(click_through({}, 1), {2, 1, 2, 3}, Sgd{1}, {1});
    const State state(model.train, 1);
    const auto set = [&](const std::string& name, const std::vector<float>& values) {
        std::ranges::copy(values, state.find(name)->view.as<float>().begin());
    };
    set("embedding.weight", {1, 10, 100});
    set("fc_0.weight", {2, 3, 0.5F});
    set("fc_0.bias", {0.25F});
    Executor tester(model.test, state, {}, {.threads = 1, .keep = {model.scores}});
    const auto feed = [](Executor& executor) {
        std::ranges::copy(std::array<std::int64_t, 4>{0, 2, 3, 1},
                          executor.feed<std::int64_t>(fed_ids).begin());
        std::ranges::copy(std::array{4.0F, -8.0F}, executor.feed<float>(fed_dense).begin());
        std::ranges::copy(std::array{1.0F, 0.0F}, executor.feed<float>(fed_click).begin());
        std::ranges::copy(std::array{0.0F, 1.0F}, executor.feed<float>(fed_weight).begin());
    };
    feed(tester);
    tester.run();
    EXPECT_EQ(tester.fetch(model.scores)[0], 2 * 1 + 3 * 100 + 0.5F * 4 + 0.25F);
    EXPECT_EQ(tester.fetch(model.scores)[1], 3 * 10 - 0.5F * 8 + 0.25F);
    EXPECT_NEAR(tester.fetch_scalar(model.loss_sum), 26.25, 1e-5);  // the second sample's alone

    // The first sample's chance is 1 already; of the second one both sides learn, but for the unknown id.
    Executor trainer(model.train, state, {}, {.threads = 1});
    feed(trainer);
    trainer.run();
    const auto table = state.find("embedding.weight")->view.as<float>();
    EXPECT_EQ(table[0], 1);
    EXPECT_EQ(table[1], 10 - 3 * 0.5F);
    EXPECT_EQ(table[2], 100);
    EXPECT_EQ(state.find("fc_0.weight")->view.as<float>()[0], 2);
    EXPECT_EQ(state.find("fc_0.weight")->view.as<float>()[1], 3 - 10 * 0.5F);
}

}  // namespace
}  // namespace dtrain::native
