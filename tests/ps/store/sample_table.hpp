// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ps/store/load_table.hpp"
#include "ps/store/table_saver.hpp"
#include "ps/table/id_hash.hpp"
#include "ps/table/sparse_table.hpp"

/// Tables that do what servers are told to, and all that they hold.
namespace dtrain::tests {

using Ids = std::vector<std::int64_t>;
using Floats = std::vector<float>;

inline ps::TableOptions sample_options() {
    return {.name = "clicks/user",
            .width = 3,
            .seed = 5,
            .initializer = ps::UniformRow{1},
            .optimizer = Adam{},
            .regularisation = L2Decay{0.01},
            .admission = ps::AdmitByCount{2, 4096},
            .statistics = ps::RowStatistics{},
            .arenas = 2};
}

/// Bytes of the rows by id, with NaN and -0 as they are.
using Content = std::map<std::int64_t, std::string>;

inline Content content(const ps::SparseTable& table) {
    Content rows;
    table.for_each([&](const ps::TableRow& row) {
        auto& bytes = rows[row.id];
        const auto add = [&](const auto* data, std::size_t count) {
            bytes.append(reinterpret_cast<const char*>(data), count * sizeof(*data));
        };
        add(row.weights.data(), row.weights.size());
        add(row.state.data(), row.state.size());
        add(&row.shows, 1);
        add(&row.clicks, 1);
        add(&row.last_day, 1);
    });
    return rows;
}

/// All that later pulls and pushes depend on.
struct Whole {
    Content rows;
    std::vector<std::uint8_t> touches;
    std::vector<std::uint64_t> counts;
    std::uint32_t day = 0;
    friend bool operator==(const Whole&, const Whole&) = default;
};

inline Whole whole(const ps::SparseTable& table) {
    const auto& [inserted, evicted, rejected, dropped] = table.counts();
    const auto touches = table.touch_counters();
    return {content(table),
            {touches.begin(), touches.end()},
            {inserted, evicted, rejected, dropped},
            table.day()};
}

/// The n-th of some ids of everywhere, the extremes among them.
inline std::int64_t sample_id(std::uint64_t n) {
    if (n == 0) return std::numeric_limits<std::int64_t>::min();
    if (n == 1) return std::numeric_limits<std::int64_t>::max();
    return n == 2 ? -1 : static_cast<std::int64_t>(n * 0x9e3779b97f4a7c15U);
}

/// Something that a server is told to do, about ids of its shard.
inline void change(ps::SparseTable& table, std::mt19937& dice, const ps::ServerShard& shard = {}) {
    Ids ids;
    for (auto count = 1 + dice() % 40; count > 0; --count)
        if (const auto id = sample_id(dice() % 3000); ps::server_of(id, shard.servers) == shard.server)
            ids.push_back(id);
    if (ids.empty()) return;
    Floats rows(table.width() * ids.size());
    for (auto& value : rows) value = static_cast<float>(dice() % 100) / 10 - 5;
    switch (dice() % 10) {
        case 0:
            table.erase(ids.front());
            break;
        case 1:
            if (dice() % 30 == 0) table.shrink();
            table.set_day(table.day() + dice() % 2);
            break;
        case 2:
        case 3:
        case 4:
            table.pull(ids, rows);
            break;
        default: {
            const Floats shows(table.options().statistics ? ids.size() : 0, 30.0F);
            const Floats clicks(shows.size(), 1.0F);
            table.push({ids, rows, shows, clicks}, {.step = 1 + static_cast<std::int64_t>(dice() % 9)});
        }
    }
}

inline void change(int times, ps::SparseTable& table, std::mt19937& dice, const ps::ServerShard& shard = {}) {
    for (int i = 0; i < times; ++i) change(table, dice, shard);
}

/// Small blocks, so that there are several.
inline constexpr ps::SaveMemory small_blocks{.block_bytes = 4096, .blocks = 2, .max_blocks = 4};

/// A save at one go.
inline ps::SavedTable save(ps::TableSaver& saver, const std::filesystem::path& folder,
                           ps::WhichRows which = ps::WhichRows::all) {
    std::filesystem::create_directories(folder);
    saver.begin({folder, folder.filename().string(), which, 7});
    ps::SavedTable saved{folder, {saver.finish()}};
    saver.commit();
    return saved;
}

inline ps::SavedTable save(ps::SparseTable& table, const std::filesystem::path& folder,
                           const ps::ServerShard& shard = {}) {
    ps::TableSaver saver(table, shard, std::nullopt, small_blocks);
    return save(saver, folder);
}

inline ps::LoadedTable load(const ps::SavedTable& saved, const ps::ServerShard& shard = {}) {
    return ps::load_table(sample_options(), {&saved, 1}, shard);
}

}  // namespace dtrain::tests
