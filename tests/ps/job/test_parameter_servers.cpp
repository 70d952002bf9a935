// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: one process that accumulates the same batches has the same bits in sync mode; in the others each
// trainer's gradients are counted once. Runs at 1 to 7 ranks, split into servers and trainers in each way.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/parameter_servers.hpp>
#include <dtrain/passes.hpp>

#include "base/files.hpp"
#include "linear_job.hpp"
#include "one_process.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

constexpr std::int64_t batch = 8;
constexpr std::int64_t slots = 3;
constexpr std::int64_t rows = 40;
constexpr std::uint64_t seed = 5;

struct TrainingSetup {
    Optimizer optimizer = Sgd{0.1};
    OptimizerOptions options = {};
    bool is_distributed = true;
    bool is_used_twice = false;
};

/// Rows of three ids side by side, and two layers, of which the first is cut into blocks.
Program training_program(const TrainingSetup& setup) {
    Program program;
    const auto ids = layers::data(program, "ids", {batch, slots}, DataType::int64);
    const auto label = layers::data(program, "label", {batch, 1});
    const layers::EmbeddingOptions table{
        .is_sparse = true, .padding_idx = 7, .is_distributed = setup.is_distributed, .name = "table"};
    auto x = layers::flatten(program, layers::embedding(program, ids, rows, 4, table));
    if (setup.is_used_twice) {
        const auto more = layers::data(program, "more", {batch, 2}, DataType::int64);
        x = layers::concat(
            program, {x, layers::flatten(program, layers::embedding(program, more, rows, 4, table))}, 1);
    }
    const auto hidden = layers::fc(program, x, 1800, {.activation = "tanh"});
    const auto logit = layers::fc(program, hidden, 1);
    minimize(program, layers::mean(program, layers::bce_with_logits(program, logit, label)), setup.optimizer,
             setup.options);
    return program;
}

std::vector<std::int64_t> ids_of(int number) {
    std::vector<std::int64_t> ids(batch * slots);
    for (std::size_t i = 0; i < ids.size(); ++i)
        ids[i] = static_cast<std::int64_t>((i * i * 5 + static_cast<std::size_t>(number) * 11) % rows);
    return ids;
}

void feed(Executor& executor, int number) {
    const auto ids = ids_of(number);
    std::ranges::copy(ids, executor.feed<std::int64_t>("ids").begin());
    if (executor.program().has("more")) {
        const auto more = executor.feed<std::int64_t>("more");
        std::copy_n(ids.rbegin(), more.size(), more.begin());
    }
    const auto label = executor.feed<float>("label");
    for (std::size_t i = 0; i < label.size(); ++i)
        label[i] = static_cast<float>((i + static_cast<std::size_t>(number)) % 2);
}

/// What a trained model says of some batches.
std::vector<float> answers(const Program& program, const State& state, const ExecutorOptions& options) {
    const auto name = logits_name(program);
    Executor executor(for_test(program, {name}), state, {}, options);
    std::vector<float> logits;
    for (int number = 100; number < 104; ++number) {
        const auto ids = executor.feed<std::int64_t>("ids");
        for (std::size_t i = 0; i < ids.size(); ++i)
            ids[i] = static_cast<std::int64_t>((i * 3 + static_cast<std::size_t>(number)) % rows);
        if (executor.program().has("more"))
            std::ranges::copy(ids.first(static_cast<std::size_t>(batch * 2)),
                              executor.feed<std::int64_t>("more").begin());
        executor.run();
        const auto values = executor.fetch(name);
        logits.insert(logits.end(), values.begin(), values.end());
    }
    return logits;
}

std::vector<float> trained_by_one(TrainingSetup setup, int steps, int batches) {
    setup.is_distributed = false;
    const auto program = training_program(setup);
    return answers(program, state_of_one_process(program, seed, steps, batches, feed), {.threads = 1});
}

struct Job {
    TrainingSetup setup = {};
    ServerJobOptions options = {.seed = seed, .threads = 1};
    int steps = 6;
    bool prefetches = false;
    int steps_less = 0;           ///< of the last trainer
    std::int64_t push_every = 2;  ///< geo
};

/// Trains with so many servers; what the trainers say then. Empty on servers.
std::vector<float> trained_with(int servers, const Job& job) {
    const ServerRanks ranks(test_world(), servers);
    const auto transpiler = transpiled(ranks, training_program(job.setup), job.options.mode, job.push_every);
    if (ranks.serves()) {
        serve(ranks, transpiler, job.options);
        return {};
    }
    ServerConnection connection(ranks, transpiler, job.options);
    const auto trainer = transpiler.get_trainer_program();
    const State state(trainer, 77);  // other first values: those of the servers count
    connection.pull_parameters(state);
    const ExecutorOptions options{.threads = 1, .servers = connection.link()};
    Executor executor(trainer, state, {}, options);
    const bool is_last = ranks.number() == ranks.trainers() - 1;
    const int steps = job.steps - (is_last ? job.steps_less : 0);
    for (int step = 0; step < steps; ++step) {
        const auto number = step * ranks.trainers() + ranks.number();
        if (job.prefetches) connection.prefetch("table.weight", ids_of(number + ranks.trainers()));
        feed(executor, number);
        executor.run();
    }
    if (job.steps_less > 0) {
        // Trainers that go on do not wait for the one that has left.
        auto logits = is_last ? std::vector<float>() : answers(trainer, state, options);
        connection.leave();
        return logits;
    }
    connection.finish();
    ranks.peers().barrier();
    connection.pull_parameters(state);
    auto logits = answers(trainer, state, options);
    ranks.peers().barrier();
    connection.leave();
    return logits;
}

void expect_the_bits_of_one(const TrainingSetup& setup, int message_rows = 0, bool prefetches = false) {
    for (int servers = 1; servers < test_world().size(); ++servers) {
        const ServerJobOptions options{.seed = seed, .threads = 1, .message_rows = message_rows};
        const auto logits =
            trained_with(servers, {.setup = setup, .options = options, .prefetches = prefetches});
        const int trainers = test_world().size() - servers;
        if (logits.empty()) continue;
        expect_same_bits(logits, trained_by_one(setup, 6, trainers), servers, trainers);
    }
}

TEST(ParameterServers, SyncHasTheBitsOfOneProcess) {
    expect_the_bits_of_one({.optimizer = Sgd{0.1}});
    expect_the_bits_of_one({.optimizer = Momentum{.learning_rate = 0.1}});
    expect_the_bits_of_one({.optimizer = Adagrad{0.1}});
    expect_the_bits_of_one({.optimizer = Adam{0.01}});
    expect_the_bits_of_one({.optimizer = AdamW{.learning_rate = 0.01}});
    expect_the_bits_of_one({.optimizer = Ftrl{}});
}

TEST(ParameterServers, SyncHasTheBitsOfOneProcessWithAScheduleAndDecay) {
    expect_the_bits_of_one({.optimizer = Momentum{.learning_rate = 0.1},
                            .options = {.schedule = LearningRateSchedule{ExponentialDecay{0.1, 2, 0.5}},
                                        .regularisation = L2Decay{1e-3}}});
}

TEST(ParameterServers, SyncHasTheBitsOfOneProcessWhenABatchGoesInSeveralMessages) {
    for (const int message_rows : {1, 4, 7})
        for (const bool prefetches : {false, true}) {
            expect_the_bits_of_one({.optimizer = Adam{0.01}}, message_rows, prefetches);
            expect_the_bits_of_one({.optimizer = Adagrad{0.1}, .is_used_twice = true}, message_rows,
                                   prefetches);
        }
}

TEST(ParameterServers, ATableThatIsUsedTwiceGetsOneUpdate) {
    expect_the_bits_of_one({.optimizer = Adagrad{0.1}, .is_used_twice = true});
}

TEST(ParameterServers, ASparseTableNeedNotBeDistributed) {
    expect_the_bits_of_one({.optimizer = Adam{0.01}, .is_distributed = false});
}

TEST(ParameterServers, PrefetchedRowsAreThoseBehindTheStep) {
    for (int servers = 1; servers < test_world().size(); ++servers)
        EXPECT_EQ(trained_with(servers, {.setup = {.optimizer = Adam{0.01}}, .prefetches = true}),
                  trained_with(servers, {.setup = {.optimizer = Adam{0.01}}}));
}

TEST(ParameterServers, ATrainerThatLeavesEarlyHoldsNobodyUp) {
    for (const auto mode : {ServerMode::sync, ServerMode::async, ServerMode::half_async, ServerMode::geo})
        for (int servers = 1; servers + 1 < test_world().size(); ++servers)
            trained_with(servers, {.options = {.mode = mode, .seed = seed, .threads = 1}, .steps_less = 3});
}

TEST(ParameterServers, EachGradientCountsOnceInEveryMode) {
    expect_each_gradient_once({.mode = ServerMode::sync, .threads = 1});
    expect_each_gradient_once({.mode = ServerMode::async, .threads = 1});
    expect_each_gradient_once({.mode = ServerMode::async, .most_merged = 1, .threads = 1});
    expect_each_gradient_once({.mode = ServerMode::half_async, .threads = 1});
    expect_each_gradient_once({.mode = ServerMode::half_async, .staleness = 3, .threads = 1});
    expect_each_gradient_once({.mode = ServerMode::geo, .threads = 1});
}

TEST(ParameterServers, EachGradientCountsOnceWhenABatchGoesInSeveralMessages) {
    for (const auto mode : {ServerMode::sync, ServerMode::async, ServerMode::half_async, ServerMode::geo})
        expect_each_gradient_once({.mode = mode, .threads = 1, .message_rows = 1});
}

/// The servers get what one trainer has changed, but for the rounding of a difference and a sum.
TEST(ParameterServers, OneTrainerOfGeoModeIsAlmostOneProcess) {
    const int servers = test_world().size() - 1;
    if (servers < 1) return;
    for (const auto& setup :
         {TrainingSetup{Sgd{0.1}}, TrainingSetup{Momentum{.learning_rate = 0.1}}, TrainingSetup{Adagrad{0.1}},
          TrainingSetup{Adam{0.01}}, TrainingSetup{AdamW{.learning_rate = 0.01}}, TrainingSetup{Ftrl{}},
          TrainingSetup{.optimizer = Adam{0.01}, .is_distributed = false, .is_used_twice = true},
          TrainingSetup{.optimizer = Momentum{.learning_rate = 0.1},
          .options = {.schedule = LearningRateSchedule{ExponentialDecay{0.1, 2, 0.5}},
                     .regularisation = L2Decay{1e-3}}}}) {
        for (const bool prefetches : {false, true}) {
            const auto logits =
                trained_with(servers, {.setup = setup,
                                       .options = {.mode = ServerMode::geo, .seed = seed, .threads = 1},
                                       .steps = 7,
                                       .prefetches = prefetches});
            if (logits.empty()) continue;
            const auto expected = trained_by_one(setup, 7, 1);
            ASSERT_EQ(logits.size(), expected.size());
            for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], expected[i], 2e-5) << i;
        }
    }
}

constexpr int every_step = -1;

/// The parameters that a trainer computes with, and its gradients, are rounded to 8 or 11 bits.
TEST(ParameterServers, ShorterNumbersOnTheWayTrainAlmostAsWell) {
    for (const auto& [wire, bound] : {std::pair(WireType::bfloat16, 0.1), std::pair(WireType::float16, 0.02)})
        for (const auto mode : {ServerMode::sync, ServerMode::geo}) {
            const int servers = test_world().size() - 1;
            if (servers < 1) return;
            const auto logits =
                trained_with(servers, {.setup = {.optimizer = Sgd{0.1}},
                                       .options = {.mode = mode, .wire = wire, .seed = seed, .threads = 1}});
            if (logits.empty()) continue;
            const auto expected = trained_by_one({.optimizer = Sgd{0.1}}, 6, 1);
            for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], expected[i], bound) << i;
            EXPECT_NE(logits, expected);
        }
}

/// One trainer and so many servers, of the first ranks of the world, from one step to another.
/// @param load the servers begin with what was saved there; empty: with the first parameters
/// @param save where they save in the end; empty: nowhere
/// @param meanwhile steps that are trained before that is complete; every_step: instead, what has changed
/// is saved after each step, into folders by the steps' numbers
std::vector<float> trained_in_parts(int servers, int begin, int end, const std::filesystem::path& load,
                                    const std::filesystem::path& save, int meanwhile = 0) {
    const bool takes_part = test_world().rank() <= servers;
    const auto own = test_world().split(takes_part ? 0 : 1, test_world().rank());
    if (!takes_part) return {};
    const ServerRanks ranks(own, servers);
    const auto program = training_program({.optimizer = Adam{0.01}});
    DistributeTranspiler transpiler;
    transpiler.transpile(program, {.pservers = ranks.pservers()});
    const ServerJobOptions options{.seed = seed, .threads = 1};
    if (ranks.serves()) {
        ParameterServer server(ranks, transpiler, options);
        if (!load.empty()) server.load(load);
        server.run();
        return {};
    }
    ServerConnection connection(ranks, transpiler, options);
    const auto trainer = transpiler.get_trainer_program();
    const State state(trainer, 77);
    connection.pull_parameters(state);
    Executor executor(trainer, state, {}, {.threads = 1, .servers = connection.link()});
    const auto train = [&](int from, int to) {
        for (int step = from; step < to; ++step) {
            feed(executor, step);
            executor.run();
        }
    };
    if (meanwhile == every_step) {
        std::vector<std::string> chain;
        for (int step = begin; step < end; ++step) {
            train(step, step + 1);
            const auto name = std::to_string(step);
            std::filesystem::create_directory(save / name);
            connection.begin_save(save / name, {.since = chain, .changes_follow = true});
            connection.finish_save()();
            chain.push_back(name);
        }
    } else {
        train(begin, end);
    }
    if (!save.empty() && meanwhile != every_step) {
        connection.begin_save(save);
        train(end, end + meanwhile);
        const auto write_manifest = connection.finish_save();
        EXPECT_TRUE(connection.is_saved());
        write_manifest();
    }
    auto logits = answers(trainer, state, {.threads = 1, .servers = connection.link()});
    connection.leave();
    return logits;
}

/// The same on all ranks; the first one's.
std::filesystem::path common_folder(const std::optional<tests::TemporaryFolder>& folder) {
    return test_world().broadcast(folder ? folder->path().string() : "");
}

TEST(ParameterServers, AnyNumberOfThemGoesOnFromWhatWasSaved) {
    std::optional<tests::TemporaryFolder> mine;
    if (test_world().rank() == 0) mine.emplace();
    const auto folder = common_folder(mine);
    const auto expected = trained_by_one({.optimizer = Adam{0.01}}, 6, 1);
    for (const auto& [before, after] : {std::pair(1, 1), std::pair(1, 2), std::pair(2, 1), std::pair(3, 2),
                                        std::pair(2, 3), std::pair(4, 3), std::pair(3, 4)}) {
        if (std::max(before, after) >= test_world().size()) continue;
        for (const int meanwhile : {0, 3, every_step}) {
            const auto saved = folder / (std::to_string(before) + "-" + std::to_string(after) + "-" +
                                         std::to_string(meanwhile));
            if (mine) std::filesystem::create_directory(saved);
            test_world().barrier();
            trained_in_parts(before, 0, 3, {}, saved, meanwhile);
            test_world().barrier();
            const auto logits =
                trained_in_parts(after, 3, 6, meanwhile == every_step ? saved / "2" : saved, {});
            if (!logits.empty()) {
                EXPECT_EQ(std::memcmp(logits.data(), expected.data(), logits.size() * sizeof(float)), 0)
                    << before << " servers, then " << after << "; steps meanwhile: " << meanwhile;
            }
            test_world().barrier();
        }
    }
}

TEST(ParameterServers, SayWhichFileTheyCannotLoad) {
    std::optional<tests::TemporaryFolder> mine;
    if (test_world().rank() == 0) mine.emplace();
    const auto folder = common_folder(mine);
    if (test_world().size() < 2) return;
    trained_in_parts(1, 0, 1, {}, folder);
    test_world().barrier();
    const ServerRanks ranks(test_world(), 1);
    if (ranks.serves()) {
        const auto refusal = [&](const TrainingSetup& setup) {
            DistributeTranspiler transpiler;
            transpiler.transpile(training_program(setup),
                                 {.pservers = ranks.pservers(), .trainers = ranks.trainers()});
            ParameterServer server(ranks, transpiler, {.seed = seed});
            return message_of([&] { server.load(folder); });
        };
        EXPECT_EQ(refusal({.optimizer = Adam{0.01}}), "");
        EXPECT_THAT(refusal({.optimizer = Adagrad{0.1}}), HasSubstr(".squares"));
        EXPECT_THAT(refusal({.optimizer = Adam{0.01}, .is_used_twice = true}), HasSubstr("fc_0.weight"));
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            const auto whole = *read_file(entry.path());
            auto damaged = whole;
            damaged[damaged.size() / 3] ^= 4;
            replace_file(entry.path(), damaged);
            EXPECT_THAT(refusal({.optimizer = Adam{0.01}}), HasSubstr(entry.path().string()));
            std::filesystem::remove(entry.path());
            EXPECT_THAT(refusal({.optimizer = Adam{0.01}}), HasSubstr(entry.path().string()));
            replace_file(entry.path(), whole);
        }
    }
    test_world().barrier();
}

TEST(ParameterServers, HaveRulesForTheRowsOfATable) {
    if (test_world().size() < 2) return;
    const ServerRanks ranks(test_world(), 1);
    DistributeTranspiler transpiler;
    transpiler.transpile(linear_program(), {.pservers = ranks.pservers(), .trainers = ranks.trainers()});
    // A row's score is 1 for every show; of 3 shows a step by each trainer two are of id -1.
    const auto shown_once = static_cast<double>(ranks.trainers()) + 0.5;
    const ServerJobOptions options{
        .rows_of = {{"table.weight", {.statistics = RowStatistics{1, 1, 1, shown_once, 30}}}},
        .reject_not_finite = true};
    if (ranks.serves()) return serve(ranks, transpiler, options);
    ServerConnection connection(ranks, transpiler, options);
    const auto trainer = transpiler.get_trainer_program();
    Executor executor(trainer, State(trainer, 1), {}, {.threads = 1, .servers = connection.link()});
    std::ranges::copy(std::vector<std::int64_t>{-1, 4, 5, -1}, executor.feed<std::int64_t>("ids").begin());
    std::ranges::fill(executor.feed<float>("factor"), 0.5F);
    executor.feed<float>("factor")[4] = std::numeric_limits<float>::infinity();  // of id 5
    executor.run();
    ranks.peers().barrier();
    if (ranks.number() == 0) {
        EXPECT_EQ(connection.begin_day(1, true), 2U);  // 4, and 5, of which nothing is known
        const auto counts = connection.counts();
        EXPECT_EQ(counts.rows, 1U);
        EXPECT_EQ(counts.inserted, 3U);
        EXPECT_EQ(counts.evicted, 2U);
        EXPECT_EQ(counts.rejected, static_cast<std::uint64_t>(ranks.trainers()));
        EXPECT_EQ(counts.dense_rejected, static_cast<std::uint64_t>(ranks.trainers()));
        EXPECT_GT(counts.bytes, 0U);
    }
    ranks.peers().barrier();
    connection.leave();
}

/// The ids 0 to `ids` - 1, each looked up by one trainer, with room for `dict_size`. @returns what this
/// trainer is told of it
std::string refused_for_room(int servers, ServerMode mode, std::int64_t ids, std::int64_t dict_size) {
    constexpr std::int64_t in_step = 4;
    Program program;
    const auto fed = layers::data(program, "ids", {in_step}, DataType::int64);
    const auto row = layers::embedding(program, fed, dict_size, 2,
                                       {.is_sparse = true, .is_distributed = true, .name = "table"});
    minimize(program, layers::reduce_sum(program, layers::fc(program, row, 1)), Sgd{0.25});
    const ServerRanks ranks(test_world(), servers);
    const auto transpiler = transpiled(ranks, program, mode, 7);
    const ServerJobOptions options{.mode = mode, .threads = 1};
    if (ranks.serves()) {
        serve(ranks, transpiler, options);
        return "";
    }
    ServerConnection connection(ranks, transpiler, options);
    const auto trainer = transpiler.get_trainer_program();
    const State state(trainer, 1);
    Executor executor(trainer, state, {}, {.threads = 1, .servers = connection.link()});
    const auto train = [&] {
        for (std::int64_t first = ranks.number(); first < ids; first += in_step * ranks.trainers()) {
            const auto in_batch = executor.feed<std::int64_t>("ids");
            for (std::int64_t i = 0; i < in_step; ++i)
                in_batch[static_cast<std::size_t>(i)] = std::min(first + i * ranks.trainers(), ids - 1);
            executor.run();
        }
        connection.leave();
    };
    const auto refused = message_of<Error>(train);
    if (!refused.empty()) connection.leave();
    return refused;
}

TEST(ParameterServers, TogetherTheyHaveNoMoreIdsThanDictSize) {
    const int servers = 2;
    if (test_world().size() <= servers) return;
    for (const auto mode : {ServerMode::sync, ServerMode::async, ServerMode::half_async, ServerMode::geo}) {
        EXPECT_EQ(refused_for_room(servers, mode, 101, 101), "") << to_string(mode);
        // Who leaves last finds out at the latest. Who has left before all ids were there knows nothing.
        const auto refused = refused_for_room(servers, mode, 101, 100);
        EXPECT_GE(test_world().sum(std::int64_t{!refused.empty()}), 1) << to_string(mode);
        if (refused.empty()) continue;
        EXPECT_GE(test_world().rank(), servers);
        EXPECT_THAT(refused, HasSubstr("table 'table.weight' has rows for 101 distinct ids on all servers "
                                       "together, and its dict_size is 100"))
            << to_string(mode);
    }
}

TEST(ParameterServers, TrainersSaveMemoryButForGradients) {
    if (test_world().size() < 2) return;
    const ServerRanks ranks(test_world(), 1);
    DistributeTranspiler transpiler;
    transpiler.transpile(linear_program(), {.pservers = ranks.pservers(), .trainers = ranks.trainers()});
    if (ranks.serves()) return serve(ranks, transpiler, {});
    ServerConnection connection(ranks, transpiler, {});
    const auto trainer = transpiler.get_trainer_program();
    const auto wrong = [&](bool skip_grads) {
        return message_of([&] {
            Executor(trainer, State(trainer, 1), {},
                     {.memory_optimize = true, .skip_grads = skip_grads, .servers = connection.link()});
        });
    };
    EXPECT_THAT(wrong(false), HasSubstr("memory_optimize on a trainer goes with skip_grads = true"));
    EXPECT_EQ(wrong(true), "");
    connection.leave();
}

TEST(ParameterServers, SaysWhatIsWrongWithAJob) {
    const auto& world = test_world();
    EXPECT_THAT(message_of([&] { ServerRanks(world, world.size()); }), HasSubstr("one rank that trains"));
    EXPECT_THAT(message_of([&] { ServerRanks(world, 0); }), HasSubstr("0 parameter servers"));
    if (world.size() < 2) return;
    const ServerRanks ranks(world, 1);
    DistributeTranspiler transpiler;
    transpiler.transpile(linear_program(), {.pservers = ranks.pservers(), .trainers = ranks.trainers()});
    const auto wrong = [&](const ServerJobOptions& options) {
        return message_of([&] {
            if (ranks.serves())
                serve(ranks, transpiler, options);
            else
                ServerConnection(ranks, transpiler, options);
        });
    };
    EXPECT_EQ(wrong({.mode = ServerMode::async}), "mode async goes with sync_mode = false of transpile()");
    EXPECT_EQ(wrong({.staleness = 2}), "staleness is 2 in mode sync; it is a setting of half_async");
    EXPECT_THAT(wrong({.mode = ServerMode::geo}), HasSubstr("mode geo goes with"));
    EXPECT_EQ(wrong({.most_merged = 0}), "most_merged is 0, expected 1 or more");
    EXPECT_EQ(wrong({.most_merged = 1'000'001}), "most_merged is 1000001, expected at most 1000000");
    EXPECT_EQ(wrong({.table_threads = -1}), "table_threads is -1, expected 0 or more");
    EXPECT_EQ(wrong({.message_rows = -1}), "message_rows is -1, expected 0 or more");
    EXPECT_EQ(wrong({.memory = 0}), "a server's tables get 0 bytes of memory, expected 1 or more");
    EXPECT_EQ(wrong({.rows_of = {{"tables", {}}}}),
              "rows_of names 'tables', which is no table of this program");
    EXPECT_EQ(wrong({.rows_of = {{"table.weight", {.admission = AdmitByCount{300}}}}}),
              "table 'table.weight': the admission's count is 300, expected 1 to 255");
    transpiler = DistributeTranspiler({.geo_sgd_mode = true});
    transpiler.transpile(linear_program(),
                         {.pservers = ranks.pservers(), .trainers = ranks.trainers(), .sync_mode = false});
    EXPECT_THAT(wrong({.mode = ServerMode::geo, .rows = {.statistics = RowStatistics{}}}),
                HasSubstr("mode geo has no rules of rows"));
    EXPECT_THAT(wrong({.mode = ServerMode::geo, .reject_not_finite = true}),
                HasSubstr("mode geo has no reject_not_finite"));
}

TEST(ParameterServers, ADistributedTableNeedsServers) {
    const auto program = linear_program();
    EXPECT_THAT(message_of([&] { State(program, 1); }),
                HasSubstr("'table.weight' is_distributed, which only a job with parameter servers can have"));
    EXPECT_THAT(message_of([] {
                    Program sparse;
                    const auto ids = layers::data(sparse, "ids", {4}, DataType::int64);
                    layers::embedding(sparse, ids, 10, 2, {.is_distributed = true});
                }),
                HasSubstr("is_distributed goes with is_sparse = true"));
    DistributeTranspiler transpiler;
    transpiler.transpile(program, {.pservers = "a:1"});
    const auto trainer = transpiler.get_trainer_program();
    EXPECT_THAT(message_of([&] { Executor(trainer, State(trainer, 1)); }),
                HasSubstr("operator pull_rows talks to parameter servers, and this executor has none"));
}

}  // namespace
}  // namespace dtrain
