// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: made-up data whose rule is known. The click log is drawn from a logistic model, so the AUC of the
// true chances is the most that any model can reach.
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/metrics.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "program/runtime/classifier.hpp"

namespace dtrain {
namespace {

constexpr std::int64_t users = 40;
constexpr std::int64_t items = 60;
constexpr std::size_t click_batch = 64;

struct Impression {
    std::int64_t user;
    std::int64_t item;
    float age;
    double chance;
    float clicked;
};

// Users and items have a taste each, and what fits is clicked.
std::vector<Impression> click_log(std::size_t count, unsigned seed) {
    std::mt19937_64 random(seed);
    const auto uniform = [&] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
    std::vector<Impression> log;
    for (std::size_t i = 0; i < count; ++i) {
        Impression shown{static_cast<std::int64_t>(random() % users),
                         static_cast<std::int64_t>(random() % items), static_cast<float>(uniform()), 0, 0};
        const double taste =
            std::sin(2.1 * static_cast<double>(shown.user)) * std::cos(1.7 * static_cast<double>(shown.item));
        shown.chance = 1 / (1 + std::exp(1.0 - 6 * taste - 2 * (static_cast<double>(shown.age) - 0.5)));
        shown.clicked = uniform() < shown.chance ? 1.0F : 0.0F;
        log.push_back(shown);
    }
    return log;
}

struct ClickModel {
    Program train;
    Program test;
    Auc auc;
};

// Wide embeddings of user and item beside a dense number, two layers, one logit.
ClickModel click_model(bool is_sparse, const Optimizer& optimizer) {
    ClickModel model;
    auto& program = model.train;
    const auto batch = static_cast<std::int64_t>(click_batch);
    const auto user = layers::data(program, "user", {batch}, DataType::int64);
    const auto item = layers::data(program, "item", {batch}, DataType::int64);
    const auto age = layers::data(program, "age", {batch, 1});
    const auto label = layers::data(program, "label", {batch, 1});
    const auto features = layers::concat(
        program,
        {layers::embedding(program, user, users, 8, {.is_sparse = is_sparse, .name = "user_table"}),
         layers::embedding(program, item, items, 8, {.is_sparse = is_sparse, .name = "item_table"}), age},
        1);
    const auto hidden = layers::fc(program, features, 32, {.activation = "relu"});
    const auto logits = layers::fc(program, hidden, 1);
    model.auc = layers::auc(program, layers::sigmoid(program, logits), label);
    const auto loss = layers::mean(program, layers::bce_with_logits(program, logits, label));
    model.test = for_test(program, {model.auc.value});
    minimize(program, loss, optimizer);
    return model;
}

float run_over(Executor& executor, const std::vector<Impression>& log, const std::string& auc) {
    const auto user = executor.feed<std::int64_t>("user");
    const auto item = executor.feed<std::int64_t>("item");
    const auto age = executor.feed<float>("age");
    const auto label = executor.feed<float>("label");
    for (std::size_t first = 0; first + click_batch <= log.size(); first += click_batch) {
        for (std::size_t i = 0; i < click_batch; ++i) {
            const auto& shown = log[first + i];
            user[i] = shown.user;
            item[i] = shown.item;
            age[i] = shown.age;
            label[i] = shown.clicked;
        }
        executor.run();
    }
    return executor.fetch_scalar(auc);
}

double best_auc(const std::vector<Impression>& log) {
    double right = 0;
    double pairs = 0;
    for (const auto& clicked : log)
        for (const auto& other : log)
            if (clicked.clicked > 0.5F && other.clicked < 0.5F) {
                ++pairs;
                right += clicked.chance > other.chance ? 1 : clicked.chance < other.chance ? 0 : 0.5;
            }
    return right / pairs;
}

TEST(Models, ClickThroughModelComesNearTheBestAuc) {
    const auto train_log = click_log(8192, 1);
    const auto test_log = click_log(2048, 2);
    const auto best = best_auc(test_log);
    EXPECT_GT(best, 0.88);
    for (const bool is_sparse : {false, true}) {
        for (const Optimizer& optimizer :
             {Optimizer(Adam{.learning_rate = 0.01}), Optimizer(Adagrad{.learning_rate = 0.1})}) {
            const auto model = click_model(is_sparse, optimizer);
            const State state(model.train, 1);
            Executor trainer(model.train, state);
            Executor tester(model.test, state);
            const auto untrained = run_over(tester, test_log, model.auc.value);
            EXPECT_NEAR(untrained, 0.5, 0.1);
            for (int epoch = 0; epoch < 10; ++epoch) run_over(trainer, train_log, model.auc.value);
            reset_metrics(state);
            const auto trained = run_over(tester, test_log, model.auc.value);
            EXPECT_GT(trained, best - 0.03) << "sparse " << is_sparse << ", optimizer " << optimizer.index();
            EXPECT_LT(trained, best + 0.01);
        }
    }
}

// The documents' program in the static style, on 8 x 8 images: fc with tanh, softmax, cross entropy of the
// probabilities, its mean.
TEST(Models, DocumentsMlpConverges) {
    for (const Optimizer& optimizer :
         {Optimizer(Sgd{.learning_rate = 0.1}), Optimizer(Adam{.learning_rate = 0.003})}) {
        constexpr std::int64_t batch = 50;
        Program program;
        const auto image = layers::data(program, "x", {batch, 8, 8});
        const auto label = layers::data(program, "label", {batch}, DataType::int64);
        auto hidden = layers::reshape(program, image, {batch, 64});
        hidden = layers::fc(program, hidden, 128, {.activation = "tanh"});
        hidden = layers::fc(program, hidden, 128, {.activation = "tanh"});
        const auto prediction = layers::fc(program, hidden, 10, {.activation = "softmax"});
        const auto cost = layers::mean(program, layers::cross_entropy(program, prediction, label));
        const auto accuracy = layers::accuracy(program, prediction, label);
        const auto test_program = for_test(program, {accuracy, cost});
        minimize(program, cost, optimizer);
        const State state(program, 1);
        Executor trainer(program, state);
        Executor tester(test_program, state);
        const auto test = [&] {
            feed_samples(tester, 5000);
            tester.run();
        };
        test();
        const auto first_cost = tester.fetch_scalar(cost);
        EXPECT_NEAR(first_cost, std::log(10.0), 0.5);
        for (std::size_t epoch = 0; epoch < 10; ++epoch) {
            for (std::size_t first = 0; first < 1000; first += batch) {
                feed_samples(trainer, first);
                trainer.run();
            }
        }
        test();
        EXPECT_GT(tester.fetch_scalar(accuracy), 0.95F) << optimizer.index();
        EXPECT_LT(tester.fetch_scalar(cost), first_cost / 5);
    }
}

}  // namespace
}  // namespace dtrain
