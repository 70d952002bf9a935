// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "collected_rows.hpp"
#include "ps/table/sparse_table.hpp"
#include "support/temporary_folder.hpp"

/// A table with most of its rows on disk, and one without that is told the same: what the one does, the other
/// must do.
namespace dtrain::tests {

inline ps::TableOptions spilled_options(const Optimizer& optimizer, std::size_t arenas = 1) {
    return {.name = "clicks",
            .width = 4,
            .seed = 5,
            .initializer = ps::UniformRow{1},
            .optimizer = optimizer,
            .regularisation = L2Decay{0.01},
            .statistics = ps::RowStatistics{},
            .arenas = arenas};
}

/// So little that about 1500 rows of those options are in memory.
constexpr std::size_t little_memory = 200'000;

/// The n-th of some ids of everywhere, the extremes among them.
inline std::int64_t id_of(std::uint64_t n) {
    if (n == 0) return std::numeric_limits<std::int64_t>::min();
    if (n == 1) return std::numeric_limits<std::int64_t>::max();
    return n == 2 ? -1 : static_cast<std::int64_t>(n * 0x9e3779b97f4a7c15U);
}

inline Rows content(const ps::SparseTable& table) {
    Rows rows;
    table.for_each([&](const ps::TableRow& row) {
        auto& bytes = rows[row.id];
        EXPECT_TRUE(bytes.empty()) << "id " << row.id << " has two rows";
        const auto add = [&](const auto* data, std::size_t count) {
            bytes.append(reinterpret_cast<const char*>(data), count * sizeof(*data));
        };
        add(&row.id, 1);
        add(row.weights.data(), row.weights.size());
        add(row.state.data(), row.state.size());
        if (!table.options().statistics) return;
        add(&row.shows, 1);
        add(&row.clicks, 1);
        add(&row.last_day, 1);
    });
    EXPECT_EQ(rows.size(), table.size());
    return rows;
}

class Twins {
  public:
    explicit Twins(const ps::TableOptions& options, std::size_t memory = little_memory)
        : spilled(options, ps::SpillOptions{folder.path(), memory}), plain(options) {}

    /// Tells both the same, and compares what they answer. @param ids of which batches are made
    void change(std::mt19937& dice, std::uint64_t ids = 6000) {
        Ids batch(1 + dice() % 120);
        for (auto& id : batch) id = id_of(dice() % ids);
        Floats values(batch.size() * plain.width());
        for (auto& value : values) value = static_cast<float>(dice() % 100) / 10 - 5;
        const auto what = dice() % 100;
        const auto alike = [&](const auto& action) {
            const auto expected = action(plain);
            EXPECT_EQ(action(spilled), expected) << "operation " << what;
        };
        const auto read = [&](auto& table, bool reads_only) {
            Floats rows(values.size());
            reads_only ? table.find(batch, rows) : table.pull(batch, rows);
            return rows;
        };
        if (what < 8) {
            for (const auto id : batch) alike([&](auto& table) { return table.erase(id); });
        } else if (what < 12) {
            const auto states = Floats(plain.state_width(), 3);
            alike([&](auto& table) {
                const std::span weights(values);
                table.insert({batch[0], weights.first(table.width()), states, 7, 1, 2});
                return table.size();
            });
        } else if (what == 12) {
            if (dice() % 4 == 0) alike([](auto& table) { return table.shrink(); });
        } else if (what == 13) {
            for (auto* table : {&plain, &spilled}) table->set_day(table->day() + 1);
        } else if (what < 25) {
            alike([&](auto& table) { return read(table, true); });
        } else if (what < 60) {
            alike([&](auto& table) { return read(table, false); });
        } else {
            const Floats shows(plain.options().statistics ? batch.size() : 0, 12), clicks(shows.size(), 1);
            const auto step = 1 + static_cast<std::int64_t>(dice() % 9);
            alike([&](auto& table) {
                table.push({batch, values, shows, clicks}, {.step = step});
                return table.size();
            });
        }
        if (dice() % 20 == 0) spilled.settle();
        EXPECT_EQ(spilled.size(), plain.size());
    }

    void change(int times, std::mt19937& dice, std::uint64_t ids = 6000) {
        for (int i = 0; i < times; ++i) change(dice, ids);
    }

    void expect_alike() const {
        EXPECT_EQ(content(spilled), content(plain));
        EXPECT_EQ(spilled.counts().inserted, plain.counts().inserted);
        EXPECT_EQ(spilled.counts().evicted, plain.counts().evicted);
        EXPECT_EQ(spilled.counts().dropped, plain.counts().dropped);
        EXPECT_EQ(spilled.counts().rejected, plain.counts().rejected);
    }

    TemporaryFolder folder;
    ps::SparseTable spilled;
    ps::SparseTable plain;
};

}  // namespace dtrain::tests
