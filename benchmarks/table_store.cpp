// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// table_store save|load|changes|quiet|busy FOLDER ROWS WIDTH: writes a sparse table of WIDTH floats per row
// to disk in one go (save), or the 1% of it that has changed since (changes), or reads it from disk (load);
// prints the time in seconds, without the creation of the table. busy prints the 99th percentile, in
// microseconds, of pulls and pushes of 1024 ids during a save; quiet without one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ps/store/load_table.hpp"
#include "ps/store/table_saver.hpp"
#include "table_load.hpp"

namespace {

using namespace dtrain;
using Clock = std::chrono::steady_clock;

constexpr std::size_t batch = 1024;

struct Size {
    std::size_t rows;
    std::size_t width;
};

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

ps::TableOptions options(std::size_t width) {
    return {.name = "clicks", .width = width, .initializer = ps::UniformRow{0.05}};
}

ps::SparseTable table_of(const Size& size) {
    ps::SparseTable table(options(size.width));
    table.track_changes();
    benchmarks::fill(table, {.width = size.width, .batch = batch}, 0, size.rows);
    return table;
}

void pull_and_push(ps::SparseTable& table, std::span<const std::int64_t> ids, std::span<float> values) {
    table.pull(ids, values);
    table.push({ids, values});
}

double save(ps::TableSaver& saver, const std::filesystem::path& folder, ps::WhichRows which) {
    const auto start = Clock::now();
    saver.begin({folder, "benchmark", which, 1});
    fmt::print(stderr, "begin {:.2f} ms\n", 1e3 * seconds_since(start));
    const auto file = saver.finish();
    saver.commit();
    const auto seconds = seconds_since(start);
    std::ofstream(folder / "manifest") << ps::to_json(file);
    fmt::print(stderr, "{} rows, {} bytes\n", file.rows, file.bytes);
    return seconds;
}

double load(const std::filesystem::path& folder, const Size& size) {
    std::string manifest;
    std::getline(std::ifstream(folder / "manifest"), manifest);
    const ps::SavedTable saved{folder, {ps::table_file_from_json(manifest)}};
    const auto start = Clock::now();
    const auto loaded = ps::load_table(options(size.width), {&saved, 1}, {});
    const auto seconds = seconds_since(start);
    if (loaded.table.size() != size.rows) throw std::runtime_error("not all rows came back");
    return seconds;
}

/// Makes one save after the other, a piece between any two batches, as a busy server does.
double slowest_batches(const Size& size, const std::filesystem::path& folder, bool saves) {
    auto table = table_of(size);
    ps::TableSaver saver(table, {});
    const auto batches = benchmarks::batches_of({.width = size.width, .batch = batch, .rows = size.rows});
    std::vector<float> values(batch * size.width, 0.001F);
    std::vector<double> taken;
    const auto start = Clock::now();
    std::size_t count = 0;
    while (seconds_since(start) < 5) {
        for (const auto& ids : batches) {
            if (saves && saver.is_written()) {
                saver.finish();
                saver.commit();
                ++count;
            }
            if (saves && !saver.is_in_progress()) saver.begin({folder, "benchmark", ps::WhichRows::all, 1});
            if (saves) saver.step();
            const auto begin = Clock::now();
            pull_and_push(table, ids, values);
            taken.push_back(seconds_since(begin));
        }
    }
    std::ranges::sort(taken);
    fmt::print(stderr, "{} saves, {} batches, p50 {:.1f} us, longest {:.1f} us\n", count, taken.size(),
               1e6 * taken[taken.size() / 2], 1e6 * taken.back());
    return 1e6 * taken[taken.size() * 99 / 100];
}

double run(const std::string& what, const std::filesystem::path& folder, const Size& size) {
    if (what == "load") return load(folder, size);
    if (what == "quiet" || what == "busy") return slowest_batches(size, folder, what == "busy");
    auto table = table_of(size);
    ps::TableSaver saver(table, {});
    const auto seconds = save(saver, folder, ps::WhichRows::all);
    if (what == "save") return seconds;
    if (what != "changes") throw std::runtime_error("unknown: " + what);
    std::vector<float> values(size.width, 1);
    for (std::size_t n = 0; n < size.rows; n += 100) {
        const auto id = benchmarks::nth_id(n);
        pull_and_push(table, {&id, 1}, values);
    }
    return save(saver, folder, ps::WhichRows::changed);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 5) throw std::runtime_error("arguments: save|load|changes|quiet|busy FOLDER ROWS WIDTH");
        fmt::print("{}\n", run(argv[1], argv[2], {std::stoul(argv[3]), std::stoul(argv[4])}));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "table_store: %s\n", error.what());
        return 1;
    }
}
