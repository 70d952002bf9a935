// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a table of one thread that is told the same. Whatever several threads do together must have its
// bits: values, rows in the order of their births, counts, what snapshots take and in which order, errors.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ps/table/sparse_table.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using Ids = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using tests::message_of;

std::string bytes_of(const auto* data, std::size_t count) {
    return {reinterpret_cast<const char*>(data), count * sizeof(*data)};
}

using TeamRows = std::vector<std::string>;

class InOrder : public RowSink {
  public:
    explicit InOrder(std::size_t row_bytes) : row_bytes_(row_bytes) {}
    void take(std::span<const std::byte> rows) noexcept override {
        for (; !rows.empty(); rows = rows.subspan(row_bytes_))
            taken.push_back(bytes_of(rows.data(), row_bytes_));
    }
    TeamRows taken;

  private:
    std::size_t row_bytes_;
};

/// All that can be seen of a table, but its bytes: Abseil's sets grow by chance when ids are erased.
TeamRows all_of(const SparseTable& table) {
    TeamRows all;
    table.for_each([&](const TableRow& row) {
        all.push_back(bytes_of(&row.id, 1) + bytes_of(row.weights.data(), row.weights.size()) +
                      bytes_of(row.state.data(), row.state.size()) + bytes_of(&row.shows, 1) +
                      bytes_of(&row.clicks, 1) + bytes_of(&row.last_day, 1));
    });
    const auto& [inserted, evicted, rejected, dropped] = table.counts();
    for (const std::uint64_t number : {inserted, evicted, rejected, dropped, std::uint64_t{table.size()}})
        all.push_back("number " + bytes_of(&number, 1));
    const auto touches = table.touch_counters();
    all.push_back("touches " + bytes_of(touches.data(), touches.size()));
    return all;
}

/// The n-th of some ids of everywhere, the extremes among them.
std::int64_t spread_id(std::uint64_t n) {
    if (n == 0) return std::numeric_limits<std::int64_t>::min();
    if (n == 1) return std::numeric_limits<std::int64_t>::max();
    return n == 2 ? -1 : static_cast<std::int64_t>(n * 0x9e3779b97f4a7c15U);
}

struct Batch {
    Ids ids;
    Floats values;
    Floats shows;
    Floats clicks;
};

Batch any_batch(std::mt19937_64& dice, const TableOptions& options) {
    // Around the least that threads share, and up to more than a round of pieces.
    constexpr std::size_t sizes[] = {1,    700,  TableTeam::min_batch - 1, TableTeam::min_batch,
                                     3000, 9000, TableTeam::round + 700};
    const auto size = sizes[dice() % 30 == 0 ? 6 : dice() % 6];
    // Many ids twice, or nearly none.
    const std::uint64_t different = dice() % 2 == 0 ? size + 3 : 40'000;
    Batch batch;
    for (std::size_t i = 0; i < size; ++i) batch.ids.push_back(spread_id(dice() % different));
    for (std::size_t i = 0; i < size * options.width; ++i)
        batch.values.push_back(static_cast<float>(static_cast<int>(dice() % 2001) - 1000) / 300);
    if (options.reject_not_finite)
        for (int i = 0; i < 3; ++i) batch.values[dice() % batch.values.size()] = i == 0 ? NAN : INFINITY;
    if (options.statistics)
        for (std::size_t i = 0; i < size; ++i) {
            batch.shows.push_back(static_cast<float>(dice() % 3));
            batch.clicks.push_back(static_cast<float>(dice() % 2));
        }
    return batch;
}

struct Kind {
    const char* name;
    TableOptions options;
    bool tracks = false;
    std::size_t memory = 0;  // with rows on disk
};

std::vector<Kind> kinds() {
    TableOptions plain{.name = "clicks", .width = 5, .seed = 3, .initializer = UniformRow{1}, .arenas = 1};
    std::vector<Kind> all{{.name = "plain", .options = plain}};

    auto adam = plain;
    adam.optimizer = Adam{};
    adam.regularisation = L2Decay{0.01};
    adam.arenas = 3;
    all.push_back({.name = "adam_tracked", .options = adam, .tracks = true});

    auto counted = plain;
    counted.optimizer = Adagrad{};
    counted.regularisation = L1Decay{0.01};
    counted.admission = AdmitByCount{.count = 3, .counters = 4096};
    counted.statistics = RowStatistics{};
    counted.reject_not_finite = true;
    all.push_back({.name = "by_count_with_statistics", .options = counted, .tracks = true});

    auto chosen = plain;
    chosen.optimizer = Momentum{};
    chosen.initializer = NormalRow{0.1};
    chosen.admission = AdmitByProbability{0.4};
    all.push_back({.name = "by_probability", .options = chosen});

    auto limited = plain;
    limited.optimizer = Ftrl{};
    limited.dict_size = 11'000;
    limited.statistics = RowStatistics{};
    all.push_back({.name = "dict_size", .options = limited, .tracks = true});

    auto spilled = adam;
    spilled.statistics = RowStatistics{};
    all.push_back({.name = "spilled", .options = spilled, .tracks = true, .memory = 1'500'000});
    return all;
}

std::optional<SpillOptions> spill(const Kind& kind) {
    if (kind.memory == 0) return std::nullopt;
    return SpillOptions{std::filesystem::temp_directory_path(), kind.memory};
}

class TeamTwins {
  public:
    TeamTwins(const Kind& kind, int threads)
        : alone(kind.options, spill(kind)),
          team_(threads),
          together(kind.options, spill(kind)),
          has_order_(kind.memory == 0),
          saved_alone_(alone.row_bytes()),
          saved_together_(alone.row_bytes()) {
        together.work_with(&team_);
        if (!kind.tracks) return;
        for (auto* table : {&alone, &together}) table->track_changes();
    }

    /// Tells both the same, and compares what they say. Some turns are for snapshots.
    void change(int turn, std::mt19937_64& dice) {
        const auto batch = any_batch(dice, alone.options());
        const auto what = turn % 20 == 5 ? 3 : turn % 20 == 15 ? 4 : dice() % 20;
        const auto step = 1 + static_cast<std::int64_t>(dice() % 9);
        const bool begins = what == 3 && !saves_;
        const bool goes_on = what >= 3 && what < 6 && saves_;
        const bool ends = goes_on && (turn % 20 == 15 || !has_order_ || step < 5);
        const auto which = alone.changes().has_base() && step % 2 == 0 ? WhichRows::changed : WhichRows::all;
        alike(what, [&](SparseTable& table, InOrder& saved) -> TeamRows {
            Floats rows(batch.values.size(), -7);
            if (what == 0) return {std::to_string(table.shrink())};
            if (what == 1) return table.set_day(table.day() + 1), TeamRows();
            if (what == 2) return {std::to_string(table.erase(batch.ids[0]))};
            if (begins) return {std::to_string(table.begin_snapshot(which, saved))};
            if (goes_on) {
                const bool has_more = table.go_on_with_snapshot(ends ? 10'000'000 : 500);
                EXPECT_TRUE(!ends || !has_more);
                if (ends) table.end_snapshot(step != 4);
                return std::exchange(saved.taken, {});
            }
            try {
                if (what < 8)
                    table.find(batch.ids, rows);
                else if (what < 13)
                    table.pull(batch.ids, rows);
                else
                    table.push({batch.ids, batch.values, batch.shows, batch.clicks}, {.step = step});
            } catch (const DictSizeError& error) {
                ++refused;
                return {error.what()};
            }
            return {bytes_of(rows.data(), rows.size())};
        });
        saves_ = begins || (saves_ && !ends);
        saves += ends ? 1 : 0;
    }

    void expect_alike() {
        alike(99, [](SparseTable& table, InOrder&) { return all_of(table); });
    }

    SparseTable alone;

  private:
    TableTeam team_;

  public:
    SparseTable together;
    int refused = 0;
    int saves = 0;

  private:
    /// Which rows go to disk depends on the bytes of the table, and then so does their order.
    TeamRows comparable(TeamRows rows) const {
        if (!has_order_) std::ranges::sort(rows);
        return rows;
    }

    void alike(std::uint64_t what, const auto& action) {
        const auto expected = comparable(action(alone, saved_alone_));
        const auto seen = comparable(action(together, saved_together_));
        ASSERT_TRUE(seen == expected) << "operation " << what;
    }

    bool has_order_;
    InOrder saved_alone_;
    InOrder saved_together_;
    bool saves_ = false;
};

struct Run {
    Kind kind;
    int threads;
    friend void PrintTo(const Run& run, std::ostream* out) { *out << run.kind.name << " " << run.threads; }
};

class TableTeamTest : public testing::TestWithParam<Run> {};

std::vector<Run> runs() {
    std::vector<Run> all;
    for (const auto& kind : kinds())
        for (const int threads : {1, 2, 3, 4}) all.push_back({kind, threads});
    return all;
}

INSTANTIATE_TEST_SUITE_P(Kinds, TableTeamTest, testing::ValuesIn(runs()), [](const auto& run) {
    return run.param.kind.name + ("_" + std::to_string(run.param.threads));
});

TEST_P(TableTeamTest, HasTheBitsOfOneThread) {
    const auto& [kind, threads] = GetParam();
    if (const auto refusal = message_of([&] { SparseTable(kind.options, spill(kind)); }); !refusal.empty())
        GTEST_SKIP() << refusal;
    std::mt19937_64 dice(static_cast<unsigned>(threads));
    TeamTwins twins(kind, threads);
    for (int i = 0; i < 60 && !HasFatalFailure(); ++i) {
        twins.change(i, dice);
        if (i % 10 == 9) twins.expect_alike();
    }
    // What the test is for has happened.
    EXPECT_GT(twins.alone.counts().inserted, 5'000U);
    EXPECT_GT(twins.saves, 0);
    EXPECT_EQ(twins.refused > 0, kind.options.dict_size.has_value());
    EXPECT_EQ(twins.alone.counts().rejected > 0, kind.options.reject_not_finite);
    EXPECT_EQ(twins.alone.counts().dropped > 0, !std::holds_alternative<AdmitAll>(kind.options.admission));
    EXPECT_EQ(twins.alone.rows_on_disk() > 0, kind.memory > 0);
}

// A batch that needs rows behind each of two limits changes nothing, and names the id that one thread names.
TEST(TableTeam, RefusesTheSameId) {
    TableOptions options{.name = "clicks", .width = 2, .dict_size = 3000};
    Ids ids(5000);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = spread_id(i / 2 + i % 2 * 1000);
    Floats rows(ids.size() * 2);
    SparseTable alone(options);
    SparseTable together(options);
    TableTeam team(3);
    together.work_with(&team);
    for (auto* table : {&alone, &together})
        table->pull(std::span(ids).first(2000), std::span(rows).first(4000));
    const auto before = all_of(together);
    const auto refusal = message_of<DictSizeError>([&] { alone.pull(ids, rows); });
    EXPECT_NE(refusal, "");
    EXPECT_EQ(message_of<DictSizeError>([&] { together.pull(ids, rows); }), refusal);
    EXPECT_EQ(message_of<DictSizeError>([&] { together.push({ids, rows}); }), refusal);
    EXPECT_EQ(all_of(together), before);
}

// Oracle: a plain loop over the batch. Half of it has one of few ids, so that another order of sums would
// show.
TEST(TableTeam, AddsGradientsUpInTheOrderOfTheBatch) {
    constexpr std::size_t width = 3;
    std::mt19937_64 dice(1);
    for (const std::size_t size : {TableTeam::min_batch - 1, TableTeam::min_batch, std::size_t{50'000}}) {
        Batch batch;
        for (std::size_t i = 0; i < size; ++i) {
            batch.ids.push_back(spread_id(dice() % (dice() % 2 == 0 ? 7 : size)));
            batch.shows.push_back(static_cast<float>(dice() % 1000) / 7);
            batch.clicks.push_back(static_cast<float>(dice() % 1000) / 3);
            for (std::size_t k = 0; k < width; ++k)
                batch.values.push_back(static_cast<float>(dice() % 100'000) / 300 - 100);
        }
        std::map<std::int64_t, std::size_t> indices;
        Batch expected;
        for (std::size_t i = 0; i < size; ++i) {
            const auto [found, is_new] = indices.try_emplace(batch.ids[i], expected.ids.size());
            if (is_new) {
                expected.ids.push_back(batch.ids[i]);
                expected.shows.push_back(0);
                expected.clicks.push_back(0);
                expected.values.resize(expected.values.size() + width);
            }
            expected.shows[found->second] += batch.shows[i];
            expected.clicks[found->second] += batch.clicks[i];
            for (std::size_t k = 0; k < width; ++k)
                expected.values[found->second * width + k] += batch.values[i * width + k];
        }
        for (const int threads : {1, 2, 4}) {
            TableTeam team(threads);
            GradientMerge merge(width);
            for (const std::size_t part : {size, size / 2 + 1, size / 5 + 1}) {
                std::vector<GradientBatch> parts;
                for (std::size_t first = 0; first < size; first += part) {
                    const auto count = std::min(part, size - first);
                    parts.push_back({std::span(batch.ids).subspan(first, count),
                                     std::span(batch.values).subspan(first * width, count * width),
                                     std::span(batch.shows).subspan(first, count),
                                     std::span(batch.clicks).subspan(first, count)});
                }
                const auto merged = merge.merged(parts, &team);
                ASSERT_EQ(merged.size(), 1U);
                EXPECT_TRUE(std::ranges::equal(merged[0].ids, expected.ids)) << threads;
                EXPECT_TRUE(std::ranges::equal(merged[0].gradients, expected.values)) << threads;
                EXPECT_TRUE(std::ranges::equal(merged[0].shows, expected.shows)) << threads;
                EXPECT_TRUE(std::ranges::equal(merged[0].clicks, expected.clicks)) << threads;
            }
        }
    }
}

TEST(TableTeam, IsForLargeBatches) {
    EXPECT_FALSE(TableTeam(1).is_for(1'000'000));
    EXPECT_FALSE(TableTeam(2).is_for(TableTeam::min_batch - 1));
    EXPECT_TRUE(TableTeam(2).is_for(TableTeam::min_batch));
}

}  // namespace
}  // namespace dtrain::ps
