// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Several sparse tables in one program, whose ids are partly the same numbers and whose rows are of other
// widths. Oracle: one process that accumulates the same batches has the same bits in sync mode; in the others
// each trainer's gradients are counted once, by hand. Runs at 1 to 7 ranks, split into servers and trainers
// in each way.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/parameter_servers.hpp>
#include <dtrain/passes.hpp>

#include "linear_job.hpp"
#include "one_process.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

constexpr std::int64_t two_tables_batch = 8;
constexpr std::int64_t users = 40;
constexpr std::int64_t items = 30;
constexpr std::uint64_t two_tables_seed = 5;

enum class Where { one_process, servers };

/// A user and the items that were seen, and the next one: the second table is used twice. Items are sparse,
/// and on servers all the same.
Program training_program(const Optimizer& optimizer, Where where) {
    Program program;
    const auto user = layers::data(program, "user", {two_tables_batch, 1}, DataType::int64);
    const auto seen = layers::data(program, "seen", {two_tables_batch, 3}, DataType::int64);
    const auto next = layers::data(program, "next", {two_tables_batch, 1}, DataType::int64);
    const auto label = layers::data(program, "label", {two_tables_batch, 1});
    const layers::EmbeddingOptions of_users{
        .is_sparse = true, .padding_idx = 7, .is_distributed = where == Where::servers, .name = "users"};
    const layers::EmbeddingOptions of_items{.is_sparse = true, .name = "items"};
    const auto x =
        layers::concat(program,
                       {layers::flatten(program, layers::embedding(program, user, users, 4, of_users)),
                        layers::flatten(program, layers::embedding(program, seen, items, 6, of_items)),
                        layers::flatten(program, layers::embedding(program, next, items, 6, of_items))},
                       1);
    const auto hidden = layers::fc(program, x, 600, {.activation = "tanh"});
    const auto logit = layers::fc(program, hidden, 1, {.name = "logit"});
    minimize(program, layers::mean(program, layers::bce_with_logits(program, logit, label)), optimizer);
    return program;
}

std::vector<std::int64_t> ids_of(const std::string& feed, int number) {
    const std::size_t factor = feed == "user" ? 7 : feed == "seen" ? 5 : 3;
    std::vector<std::int64_t> ids(static_cast<std::size_t>(two_tables_batch) * (feed == "seen" ? 3 : 1));
    for (std::size_t i = 0; i < ids.size(); ++i)
        ids[i] = static_cast<std::int64_t>((i * i * factor + static_cast<std::size_t>(number) * 11) %
                                           (feed == "user" ? users : items));
    return ids;
}

void feed_ids(Executor& executor, int number) {
    for (const char* name : {"user", "seen", "next"})
        std::ranges::copy(ids_of(name, number), executor.feed<std::int64_t>(name).begin());
}

void feed_all(Executor& executor, int number) {
    feed_ids(executor, number);
    const auto label = executor.feed<float>("label");
    for (std::size_t i = 0; i < label.size(); ++i)
        label[i] = static_cast<float>((i + static_cast<std::size_t>(number)) % 2);
}

/// What a trained model says of some batches.
std::vector<float> answers_of(const Program& program, const State& state, const ExecutorOptions& options) {
    const auto name = logits_name(program);
    Executor executor(for_test(program, {name}), state, {}, options);
    std::vector<float> logits;
    for (int number = 100; number < 106; ++number) {
        feed_ids(executor, number);
        executor.run();
        const auto values = executor.fetch(name);
        logits.insert(logits.end(), values.begin(), values.end());
    }
    return logits;
}

std::vector<float> trained_by_one(const Optimizer& optimizer, int steps, int batches) {
    const auto program = training_program(optimizer, Where::one_process);
    return answers_of(program, state_of_one_process(program, two_tables_seed, steps, batches, feed_all),
                      {.threads = 1});
}

struct Part {
    Optimizer optimizer = Adam{0.01};
    ServerJobOptions options = {.seed = two_tables_seed, .threads = 1};
    std::vector<std::string> prefetched = {};  ///< feeds
    int begin = 0;
    int end = 6;
    std::filesystem::path load = {};  ///< "": the first parameters
    std::filesystem::path save = {};  ///< "": nowhere
    bool saves_changes = false;       ///< after each step, into folders by the steps' numbers
};

std::string table_of(const std::string& feed) {
    return feed == "user" ? "users.weight" : "items.weight";
}

void train(Executor& executor, const ServerConnection& connection, const ServerRanks& ranks,
           const Part& part) {
    std::vector<std::string> chain;
    for (int step = part.begin; step < part.end; ++step) {
        const auto number = step * ranks.trainers() + ranks.number();
        for (const auto& each : part.prefetched)
            connection.prefetch(table_of(each), ids_of(each, number + ranks.trainers()));
        feed_all(executor, number);
        executor.run();
        if (!part.saves_changes) continue;
        const auto folder = part.save / std::to_string(step);
        std::filesystem::create_directory(folder);
        connection.begin_save(folder, {.since = chain, .changes_follow = true});
        connection.finish_save()();
        chain.push_back(folder.filename().string());
    }
}

/// Trains with so many servers among these ranks; what the trainers say then. Empty on servers.
std::vector<float> trained_with(const Communicator& world, int servers, const Part& part) {
    const ServerRanks ranks(world, servers);
    const auto transpiler =
        transpiled(ranks, training_program(part.optimizer, Where::servers), part.options.mode);
    EXPECT_EQ(transpiler.tables().size(), 2U);
    if (ranks.serves()) {
        ParameterServer server(ranks, transpiler, part.options);
        if (!part.load.empty()) server.load(part.load);
        server.run();
        return {};
    }
    ServerConnection connection(ranks, transpiler, part.options);
    const auto trainer = transpiler.get_trainer_program();
    const State state(trainer, 77);  // other first values: those of the servers count
    connection.pull_parameters(state);
    const ExecutorOptions options{.threads = 1, .servers = connection.link()};
    Executor executor(trainer, state, {}, options);
    train(executor, connection, ranks, part);
    connection.finish();
    ranks.peers().barrier();
    if (!part.save.empty() && !part.saves_changes && ranks.number() == 0) connection.save(part.save);
    connection.pull_parameters(state);
    auto logits = answers_of(trainer, state, options);
    ranks.peers().barrier();
    connection.leave();
    return logits;
}

void expect_the_bits_of_two_tables(const Part& part) {
    for (int servers = 1; servers < test_world().size(); ++servers) {
        const auto logits = trained_with(test_world(), servers, part);
        const int trainers = test_world().size() - servers;
        if (logits.empty()) continue;
        expect_same_bits(logits, trained_by_one(part.optimizer, part.end, trainers), servers, trainers);
    }
}

TEST(TwoTables, SyncHasTheBitsOfOneProcess) {
    for (const auto& optimizer :
         std::vector<Optimizer>{Sgd{0.1}, Momentum{.learning_rate = 0.1}, Adagrad{0.1}, Adam{0.01},
                                AdamW{.learning_rate = 0.01}, Ftrl{}})
        expect_the_bits_of_two_tables({.optimizer = optimizer});
}

TEST(TwoTables, SyncHasTheBitsOfOneProcessWhateverIsPrefetchedAndHoweverItIsSent) {
    for (const auto& prefetched : std::vector<std::vector<std::string>>{{"user"}, {"next"}, {"seen", "user"}})
        for (const int message_rows : {0, 1, 5})
            expect_the_bits_of_two_tables(
                {.options = {.seed = two_tables_seed, .threads = 1, .message_rows = message_rows},
                 .prefetched = prefetched});
}

TEST(TwoTables, EachHasRulesOfItsOwn) {
    const RowStatistics statistics{1, 1, 1, 0.5, 30};
    for (const char* table : {"users.weight", "items.weight"})
        expect_the_bits_of_two_tables(
            {.options = {
                 .seed = two_tables_seed, .threads = 1, .rows_of = {{table, {.statistics = statistics}}}}});
}

TEST(TwoTables, AnyNumberOfServersGoesOnFromWhatWasSaved) {
    std::optional<tests::TemporaryFolder> mine;
    if (test_world().rank() == 0) mine.emplace();
    const std::filesystem::path folder = test_world().broadcast(mine ? mine->path().string() : "");
    const auto expected = trained_by_one(Adam{0.01}, 6, 1);
    const auto with_one_trainer = [](int servers, const Part& part) {
        const bool takes_part = test_world().rank() <= servers;
        const auto own = test_world().split(takes_part ? 0 : 1, test_world().rank());
        return takes_part ? trained_with(own, servers, part) : std::vector<float>();
    };
    for (const auto& [before, after] :
         {std::pair(1, 1), std::pair(1, 2), std::pair(2, 1), std::pair(3, 2), std::pair(2, 3)}) {
        if (std::max(before, after) >= test_world().size()) continue;
        for (const bool saves_changes : {false, true}) {
            const auto saved = folder / fmt::format("{}-{}-{}", before, after, saves_changes);
            if (mine) std::filesystem::create_directory(saved);
            test_world().barrier();
            with_one_trainer(before, {.end = 3, .save = saved, .saves_changes = saves_changes});
            test_world().barrier();
            const auto logits =
                with_one_trainer(after, {.begin = 3, .load = saves_changes ? saved / "2" : saved});
            if (!logits.empty()) {
                EXPECT_EQ(std::memcmp(logits.data(), expected.data(), logits.size() * sizeof(float)), 0)
                    << before << " servers, then " << after << "; changes: " << saves_changes;
            }
            test_world().barrier();
        }
    }
}

constexpr float rate = 0.25F;
constexpr float of_users = 0.5F;  // what each use of a row adds to its gradient
constexpr float of_items = 2.0F;
const std::vector<std::int64_t> used{-1, std::numeric_limits<std::int64_t>::min(), 3, -1};

/// Sgd whose gradients do not depend on the parameters: the sum is the same in whatever order they come. Both
/// tables are asked for the same ids.
Program linear_tables() {
    Program program;
    const auto ids = layers::data(program, "ids", {4}, DataType::int64);
    const auto weighted = [&](const char* name, std::int64_t width, float weight) {
        const auto row = layers::embedding(program, ids, 100, width,
                                           {.is_sparse = true, .is_distributed = true, .name = name});
        return layers::scale(program, layers::reduce_sum(program, row), weight);
    };
    minimize(program, layers::sum(program, {weighted("users", 2, of_users), weighted("items", 3, of_items)}),
             Sgd{rate});
    return program;
}

/// Of both tables, one after the other.
std::vector<float> rows_of_ids(const Program& trainer, const State& state,
                               const ServerConnection& connection) {
    std::vector<std::string> names;
    for (const auto& op : trainer.operators())
        if (!op.outputs.empty() && op.outputs.front().slot == "out" && names.size() < 2 &&
            trainer.variable(op.outputs.front().variable).shape.size() == 2)
            names.push_back(op.outputs.front().variable);
    std::vector<float> rows;
    for (const auto& name : names) {
        Executor reader(for_test(trainer, {name}), state, {}, {.threads = 1, .servers = connection.link()});
        std::ranges::copy(used, reader.feed<std::int64_t>("ids").begin());
        reader.run();
        const auto values = reader.fetch(name);
        rows.insert(rows.end(), values.begin(), values.end());
    }
    return rows;
}

void expect_each_gradient_once_in_both(ServerMode mode, int message_rows) {
    constexpr int steps = 20;
    const ServerJobOptions options{
        .mode = mode, .seed = two_tables_seed, .threads = 1, .message_rows = message_rows};
    for (int servers = 1; servers < test_world().size(); ++servers) {
        const ServerRanks ranks(test_world(), servers);
        const auto transpiler = transpiled(ranks, linear_tables(), mode, 7);
        if (ranks.serves()) {
            serve(ranks, transpiler, options);
            continue;
        }
        ServerConnection connection(ranks, transpiler, options);
        const auto trainer = transpiler.get_trainer_program();
        const State state(trainer, 1);
        const auto before = rows_of_ids(trainer, state, connection);
        ranks.peers().barrier();
        Executor executor(trainer, state, {}, {.threads = 1, .servers = connection.link()});
        std::ranges::copy(used, executor.feed<std::int64_t>("ids").begin());
        for (int step = 0; step < steps; ++step) executor.run();
        connection.finish();
        ranks.peers().barrier();
        const auto after = rows_of_ids(trainer, state, connection);
        ASSERT_EQ(after.size(), used.size() * (2 + 3));
        const bool are_averages = mode == ServerMode::sync || mode == ServerMode::geo;
        const auto updates = static_cast<float>(steps * (are_averages ? 1 : ranks.trainers()));
        for (std::size_t i = 0; i < after.size(); ++i) {
            const bool is_user = i < used.size() * 2;
            const auto id = used[is_user ? i / 2 : (i - used.size() * 2) / 3];
            const auto uses = static_cast<float>(std::ranges::count(used, id));
            const auto moved = updates * rate * uses * (is_user ? of_users : of_items);
            EXPECT_NEAR(before[i] - after[i], moved, 1e-5 * moved + 1e-4)
                << to_string(mode) << ", element " << i << ", " << servers << " servers";
        }
        ranks.peers().barrier();
        connection.leave();
    }
}

TEST(TwoTables, EachGradientCountsOnceInEveryMode) {
    for (const auto mode : {ServerMode::sync, ServerMode::async, ServerMode::half_async, ServerMode::geo})
        for (const int message_rows : {0, 1}) expect_each_gradient_once_in_both(mode, message_rows);
}

/// Both tables get the ids 0 to 11; one of them has room for so many.
std::string refused_for_room(ServerMode mode, std::int64_t room_of_users, std::int64_t room_of_items) {
    Program program;
    const auto ids = layers::data(program, "ids", {12}, DataType::int64);
    const auto row = [&](const char* name, std::int64_t room) {
        return layers::embedding(program, ids, room, 2,
                                 {.is_sparse = true, .is_distributed = true, .name = name});
    };
    const auto x = layers::concat(program, {row("users", room_of_users), row("items", room_of_items)}, 1);
    minimize(program, layers::reduce_sum(program, layers::fc(program, x, 1)), Sgd{rate});
    const ServerRanks ranks(test_world(), test_world().size() - 1);
    const auto transpiler = transpiled(ranks, program, mode);
    const ServerJobOptions options{.mode = mode, .threads = 1};
    if (ranks.serves()) {
        serve(ranks, transpiler, options);
        return "";
    }
    ServerConnection connection(ranks, transpiler, options);
    const auto trainer = transpiler.get_trainer_program();
    Executor executor(trainer, State(trainer, 1), {}, {.threads = 1, .servers = connection.link()});
    const auto refused = message_of<Error>([&] {
        const auto in_batch = executor.feed<std::int64_t>("ids");
        for (std::size_t i = 0; i < in_batch.size(); ++i) in_batch[i] = static_cast<std::int64_t>(i);
        for (int step = 0; step < 3; ++step) executor.run();
        connection.leave();
    });
    if (!refused.empty()) connection.leave();
    return refused;
}

TEST(TwoTables, EachHasItsOwnRoom) {
    if (test_world().size() < 2) return;
    const bool trains = test_world().rank() == test_world().size() - 1;
    for (const auto mode : {ServerMode::sync, ServerMode::async, ServerMode::half_async, ServerMode::geo}) {
        EXPECT_EQ(refused_for_room(mode, 12, 12), "") << to_string(mode);
        const auto users_full = refused_for_room(mode, 11, 12);
        const auto items_full = refused_for_room(mode, 12, 11);
        if (!trains) continue;
        EXPECT_THAT(users_full, HasSubstr("table 'users.weight' has rows for")) << to_string(mode);
        EXPECT_THAT(items_full, HasSubstr("table 'items.weight' has rows for")) << to_string(mode);
    }
}

}  // namespace
}  // namespace dtrain
