// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the same classifier in double precision with plain loops; equality of runs that must be equal; a
// count of calls to malloc().
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "kernels/cpu/matrix_product.hpp"
#include "program/runtime/classifier.hpp"
#include "program/runtime/copy_of.hpp"
#include "support/message_of.hpp"
#include "support/on_gpu.hpp"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DTRAIN_COUNTS_ALLOCATIONS
#endif

#ifdef DTRAIN_COUNTS_ALLOCATIONS
namespace {
std::atomic<std::int64_t> allocations{0};
}

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* malloc(std::size_t bytes) noexcept {
    ++allocations;
    return __libc_malloc(bytes);
}
}
#endif

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

/// What a few steps of a classifier leave behind, with labels of either shape.
std::vector<float> trained_with_labels(const Shape& labels, bool joined) {
    Program program;
    const auto x = layers::data(program, "x", {6, 4});
    const auto label = layers::data(program, "label", labels, DataType::int64);
    const auto scores = layers::fc(program, x, 3, {.name = "fc"});
    const auto loss =
        joined
            ? layers::softmax_with_cross_entropy(program, scores, label).loss
            : layers::mean(program, layers::cross_entropy(program, layers::softmax(program, scores), label));
    const auto weight = layers::data(program, "weight", {6});
    const auto right = layers::correct_count(program, scores, label, weight);
    const auto accuracy = layers::accuracy(program, scores, label);
    minimize(program, loss, Sgd{.learning_rate = 0.1});
    State state(program, 3);
    Executor executor(program, state);
    std::vector<float> seen;
    for (int step = 0; step < 3; ++step) {
        const auto in = executor.feed<float>("x");
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 7 % 5) - 2.0F;
        const auto classes = executor.feed<std::int64_t>("label");
        EXPECT_EQ(classes.size(), 6U);
        for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<std::int64_t>(i % 3);
        std::ranges::fill(executor.feed<float>("weight"), 1.0F);
        executor.run();
        for (const auto& name : {loss, accuracy, right}) seen.push_back(executor.fetch_scalar(name));
    }
    const auto weights = state.find("fc.weight")->view.as<float>();
    seen.insert(seen.end(), weights.begin(), weights.end());
    return seen;
}

// As the documents' program feeds them.
TEST(Executor, LabelsMayBeAColumn) {
    for (const bool joined : {false, true}) {
        const auto row = trained_with_labels({6}, joined);
        EXPECT_GT(row[0], row[6]) << "it learns";
        EXPECT_EQ(trained_with_labels({6, 1}, joined), row);
    }
    for (const Shape& wrong : {Shape{6, 2}, Shape{5, 1}, Shape{5}, Shape{6, 1, 1}})
        EXPECT_THAT(message_of<ProgramError>([&] { trained_with_labels(wrong, true); }),
                    HasSubstr("label 'label' is int64 ["));
}

TEST(Executor, ComputesTheForwardPass) {
    Program program;
    const auto x = layers::data(program, "x", {2, 3});
    const auto label = layers::data(program, "label", {2}, DataType::int64);
    const auto hidden = layers::fc(program, x, 4, {.activation = "tanh", .name = "hidden"});
    const auto logits = layers::fc(program, hidden, 2, {.name = "logits"});
    const auto names = layers::softmax_with_cross_entropy(program, logits, label);
    const State state(program, 3);
    Executor executor(program, state);
    const auto in = executor.feed<float>("x");
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) - 2.0F;
    executor.feed<std::int64_t>("label")[1] = 1;
    executor.run();

    const auto w1 = state.find("hidden.weight")->view.as<float>();
    const auto w2 = state.find("logits.weight")->view.as<float>();
    double loss = 0;
    for (std::size_t row = 0; row < 2; ++row) {
        std::vector<double> scores(2);
        for (std::size_t j = 0; j < 4; ++j) {
            double sum = 0;
            for (std::size_t i = 0; i < 3; ++i) sum += static_cast<double>(in[row * 3 + i]) * w1[i * 4 + j];
            for (std::size_t k = 0; k < 2; ++k) scores[k] += std::tanh(sum) * w2[j * 2 + k];
        }
        loss += std::log(std::exp(scores[0]) + std::exp(scores[1])) - scores[row];
    }
    EXPECT_NEAR(executor.fetch_scalar(names.loss), loss / 2, 1e-6);
}

TEST(Executor, LearnsAndTestsWithTheSameParameters) {
    auto made = make_classifier(50);
    const auto accuracy = layers::accuracy(made.program, made.logits, "label");
    const auto test_program = for_test(made.program, {accuracy});
    minimize(made.program, made.cross_entropy.loss, Adam{.learning_rate = 0.002});
    const State state(made.program, 1);
    Executor train(made.program, state);
    Executor test(test_program, state);
    const auto test_accuracy = [&] {
        feed_samples(test, 5000);
        test.run();
        return test.fetch_scalar(accuracy);
    };
    EXPECT_LT(test_accuracy(), 0.5F);
    for (std::size_t epoch = 0; epoch < 10; ++epoch) {
        for (std::size_t first = 0; first < 1000; first += 50) {
            feed_samples(train, first);
            train.run();
        }
    }
    EXPECT_GT(test_accuracy(), 0.95F);
    EXPECT_EQ(state.find("adam.step")->view.as<std::int64_t>()[0], 200);
}

State trained(const ExecutorOptions& options, const Optimizer& optimizer) {
    auto made = make_classifier(32, "tanh");
    minimize(made.program, made.cross_entropy.loss, optimizer);
    State state(made.program, 9);
    Executor executor(made.program, state, {}, options);
    for (std::size_t step = 0; step < 20; ++step) {
        feed_samples(executor, 32 * step);
        executor.run();
    }
    return state;
}

TEST(Executor, RepeatsBitForBit) {
    for (const Optimizer& optimizer : {Optimizer(Sgd{}), Optimizer(Momentum{}), Optimizer(Adam{})}) {
        const auto once = trained({}, optimizer);
        EXPECT_EQ(parameters_checksum(once), parameters_checksum(trained({}, optimizer)));
        const auto untouched = State(make_classifier(32, "tanh").program, 9);
        EXPECT_NE(parameters_checksum(once), parameters_checksum(untouched)) << "it did train";
    }
}

TEST(Executor, FusedAndUnfusedActivationsAgree) {
    const auto fused = trained({.fuse = true}, Sgd{.learning_rate = 0.1});
    const auto plain = trained({.fuse = false}, Sgd{.learning_rate = 0.1});
    for (std::size_t i = 0; i < fused.tensors().size(); ++i) {
        const auto a = fused.tensors()[i].view.as<float>();
        const auto b = plain.tensors()[i].view.as<float>();
        for (std::size_t j = 0; j < a.size(); ++j) ASSERT_NEAR(a[j], b[j], 1e-5) << fused.tensors()[i].name;
    }
}

TEST(Executor, AllocatesNothingOfItsOwnInAStep) {
    if (tests::executors_are_on_a_gpu()) GTEST_SKIP() << "what a GPU's driver allocates is its own affair";
#ifdef DTRAIN_COUNTS_ALLOCATIONS
    const auto allocated_by = [](auto function) {
        function();  // oneDNN makes its code and per-thread buffers in the first one
        const auto before = allocations.load();
        for (int i = 0; i < 10; ++i) function();
        return allocations.load() - before;
    };
    EXPECT_GE(allocated_by([] { std::string(1000, 'x').shrink_to_fit(); }), 10) << "the count works";

    // oneDNN notes the arguments of every product in a map; nothing beside that is allowed.
    std::vector<float> a(64 * 128);
    std::vector<float> b(128 * 128);
    std::vector<float> c(64 * 128);
    kernels::MatrixProduct product({a.data(), 64, 128}, {b.data(), 128, 128}, {c.data(), 64, 128});
    const auto of_one_product = allocated_by([&] { product.run(); });

    auto made = make_classifier(32);
    minimize(made.program, made.cross_entropy.loss, Adam{});
    Executor executor(made.program, State(made.program, 1), {}, {.threads = 1});
    feed_samples(executor, 0);
    const auto products = std::ranges::count_if(executor.program().operators(),
                                                [](const auto& op) { return op.type.starts_with("fc"); });
    EXPECT_EQ(products, 8);
    EXPECT_LE(allocated_by([&] { executor.run(); }), products * of_one_product);
#else
    GTEST_SKIP() << "malloc() belongs to a sanitizer here";
#endif
}

TEST(Executor, CountsAndTimesItsOperators) {
    auto made = make_classifier(32);
    minimize(made.program, made.cross_entropy.loss, Adam{});
    Executor executor(made.program, State(made.program, 1), {}, {.profile = true});
    feed_samples(executor, 0);
    for (int step = 0; step < 3; ++step) executor.run();
    const auto rows = executor.profile();
    EXPECT_EQ(rows.front().type, "fc");
    EXPECT_EQ(rows.front().result, "fc_0.relu");
    for (const auto& row : rows) {
        EXPECT_EQ(row.calls, 3) << row.type;
        EXPECT_GT(row.total.count(), 0) << row.type;
    }
    EXPECT_EQ(std::ranges::count(rows, "adam", &OperatorTime::type), 1) << "all updates are one";
}

TEST(Executor, FeedsAndFetchesStayWhereTheyAre) {
    auto made = make_classifier(8);
    minimize(made.program, made.cross_entropy.loss, Sgd{});
    Executor executor(made.program, State(made.program, 1));
    const auto* x = executor.feed<float>("x").data();
    const auto* loss = executor.fetch(made.cross_entropy.loss).data();
    Executor moved(std::move(executor));
    feed_samples(moved, 0);
    moved.run();
    EXPECT_EQ(moved.feed<float>("x").data(), x);
    EXPECT_EQ(moved.fetch(made.cross_entropy.loss).data(), loss);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x) % 64, 0U);
    const auto first = copy_of(moved.fetch("fc_2.weight"));
    moved.run();
    EXPECT_NE(copy_of(moved.fetch("fc_2.weight")), first) << "parameters can be fetched, too";
}

TEST(Executor, SaysWhatCannotBeFedOrFetched) {
    auto made = make_classifier(8);
    Executor executor(made.program, State(made.program, 1));
    EXPECT_EQ(message_of<ProgramError>([&] { executor.feed<float>("label"); }),
              "feed: 'label' is int64 [8], it was asked for float32 elements");
    EXPECT_EQ(message_of<ProgramError>([&] { executor.feed<float>("fc_0.weight"); }),
              "feed: 'fc_0.weight' is a parameter, expected data");
    EXPECT_THAT(message_of<ProgramError>([&] { executor.feed<float>("lable"); }),
                HasSubstr("did you mean 'label'?"));
    EXPECT_EQ(message_of<ProgramError>([&] { executor.fetch("label"); }),
              "fetch: 'label' is int64, expected float32");
    EXPECT_EQ(message_of<ProgramError>([&] { executor.fetch_scalar("fc_2.out"); }),
              "fetch_scalar: 'fc_2.out' is [8, 10], expected one element");
    EXPECT_THAT(message_of<ProgramError>([&] { executor.fetch("fc_0.out"); }), HasSubstr("not kept"));
    Executor unfused(made.program, State(made.program, 1), {}, {.fuse = false});
    EXPECT_EQ(unfused.fetch("fc_0.out").size(), 8U * 128U);
}

TEST(Executor, ABlockBeginsAsItsPartOfTheWhole) {
    Program whole;
    whole.add(
        {.name = "w", .shape = {6}, .role = Role::parameter, .initializer = {Initializer::Kind::uniform, 1}});
    Program block;
    block.add({.name = "w.block1",
               .shape = {2},
               .role = Role::parameter,
               .initializer = {Initializer::Kind::uniform, 1, "w", 4}});
    const State all(whole, 3);
    const State part(block, 3);
    const auto values = all.find("w")->view.as<float>();
    EXPECT_THAT(part.find("w.block1")->view.as<float>(), ElementsAre(values[4], values[5]));
}

TEST(Executor, RefusesAStateOrWorldThatDoesNotFit) {
    auto made = make_classifier(8);
    minimize(made.program, made.cross_entropy.loss, Momentum{});
    const State without_optimizer(make_classifier(8).program, 1);
    EXPECT_EQ(message_of<ProgramError>([&] { Executor(made.program, without_optimizer); }),
              "the state has no optimizer_state 'fc_2.weight.velocity'");
    Program narrow;
    layers::fc(narrow, layers::data(narrow, "x", {8, 3}), 128);
    EXPECT_EQ(message_of<ProgramError>([&] { Executor(made.program, State(narrow, 1)); }),
              "parameter 'fc_0.weight' is float32 [3, 128] in the state, expected float32 [64, 128]");
    const auto for_two = data_parallel(made.program, {.ranks = 2});
    EXPECT_EQ(message_of<ProgramError>([&] { Executor(for_two, State(for_two, 1)); }),
              "the program was made data parallel for 2 ranks and the communicator has 1");
}

TEST(Executor, ABadLabelStopsTheStepAndLeavesTheParameters) {
    if (tests::executors_are_on_a_gpu()) GTEST_SKIP() << "a GPU tells later: TellsABadLabelWhenSomebodyWaits";
    auto made = make_classifier(8);
    minimize(made.program, made.cross_entropy.loss, Sgd{});
    const State state(made.program, 1);
    Executor executor(made.program, state);
    feed_samples(executor, 0);
    executor.feed<std::int64_t>("label")[3] = 10;
    const auto before = parameters_checksum(state);
    EXPECT_THROW(executor.run(), Error);
    EXPECT_EQ(parameters_checksum(state), before);
}

// Weight 0 takes padded rows out of the metrics and leaves them in the loss that is trained.
TEST(Executor, WeightsLeavePaddedRowsOutOfMetrics) {
    auto made = make_classifier(8);
    const auto weight = layers::data(made.program, "weight", {8});
    const auto loss_sum = layers::weighted_sum(made.program, made.cross_entropy.row_loss, weight);
    const auto correct = layers::correct_count(made.program, made.logits, "label", weight);
    Executor executor(made.program, State(made.program, 1));
    feed_samples(executor, 0);
    const auto weights = executor.feed<float>("weight");
    std::fill_n(weights.begin(), 5, 1.0F);
    executor.run();
    const auto rows = executor.fetch(made.cross_entropy.row_loss);
    const auto logits = executor.fetch(made.logits);
    const auto label = executor.feed<std::int64_t>("label");
    double sum = 0;
    double all = 0;
    float right = 0;
    for (std::size_t row = 0; row < 8; ++row) {
        all += rows[row];
        if (row >= 5) continue;
        sum += rows[row];
        const auto* scores = &logits[row * 10];
        if (std::max_element(scores, scores + 10) - scores == label[row]) ++right;
    }
    EXPECT_NEAR(executor.fetch_scalar(loss_sum), sum, 1e-5);
    EXPECT_EQ(executor.fetch_scalar(correct), right);
    EXPECT_NEAR(executor.fetch_scalar(made.cross_entropy.loss), all / 8, 1e-6);
}

TEST(Executor, FetchesAnyElements) {
    Program program;
    const auto ids = layers::data(program, "ids", {2}, DataType::int64);
    const auto wide = layers::data(program, "wide", {2}, DataType::float64);
    const auto small = layers::data(program, "small", {1}, DataType::int32);
    const auto scaled = layers::scale(program, wide, 0.5);
    const auto again = layers::reshape(program, ids, {1, 2});
    Executor executor(program, State(program, 1));
    std::ranges::copy(std::vector<std::int64_t>{std::int64_t{1} << 40, -3},
                      executor.feed<std::int64_t>(ids).begin());
    std::ranges::copy(std::vector<double>{1e300, 3}, executor.feed<double>(wide).begin());
    executor.feed<std::int32_t>(small)[0] = 7;
    executor.run();
    EXPECT_THAT(executor.fetch<std::int64_t>(again), testing::ElementsAre(std::int64_t{1} << 40, -3));
    EXPECT_THAT(executor.fetch<double>(scaled), testing::ElementsAre(5e299, 1.5));
    EXPECT_EQ(executor.fetch_scalar<std::int32_t>(small), 7);
    EXPECT_THAT(tests::message_of<ProgramError>([&] { executor.fetch(scaled); }),
                testing::HasSubstr("is float64, expected float32"));
    EXPECT_THAT(tests::message_of<ProgramError>([&] { executor.fetch_scalar<double>(scaled); }),
                testing::HasSubstr("expected one element"));
}

TEST(Executor, KeepsWhatAnActivationReadsWhenItIsToldTo) {
    Program program;
    const auto x = layers::data(program, "x", {2, 3});
    const auto linear = layers::fc(program, x, 4);
    const auto out = layers::tanh(program, linear);
    Executor keeping(program, State(program, 1), {}, {.keep = {linear}});
    Executor plain(program, State(program, 1), {}, {.fuse = false});
    for (auto* executor : {&keeping, &plain}) {
        std::ranges::fill(executor->feed<float>(x), 0.5F);
        executor->run();
    }
    EXPECT_EQ(copy_of(keeping.fetch(linear)), copy_of(plain.fetch(linear)));
    EXPECT_EQ(copy_of(keeping.fetch(out)), copy_of(plain.fetch(out)));
}

}  // namespace
}  // namespace dtrain
