// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/checksum.hpp"
#include "steady_rate.hpp"

/// The same load for the table and for the minimal one. A table here is a type with pull(ids, rows), which
/// creates rows for new ids, push(ids, gradients), and settle(), called between growth and use.
namespace dtrain::benchmarks {

struct TableLoad {
    std::string what;       ///< insert, pull, push, growth or memory
    std::string optimizer;  ///< sgd or adam
    std::size_t width = 0;
    std::size_t batch = 0;
    std::size_t rows = 0;
};

/// The n-th id inserted into a table: spread over the range of int64, all distinct.
inline std::int64_t nth_id(std::uint64_t n) {
    return static_cast<std::int64_t>(mixed(n));
}

/// Counted page by page: /proc/self/statm may be off by 32 pages per processor.
inline std::size_t resident_bytes() {
    std::ifstream file("/proc/self/smaps_rollup");
    std::string word;
    while (file >> word && word != "Rss:") continue;
    std::size_t kibibytes = 0;
    file >> kibibytes;
    return kibibytes << 10U;
}

/// 64 batches of existing ids, each id at most once per batch.
inline std::vector<std::vector<std::int64_t>> batches_of(const TableLoad& load) {
    std::vector<std::vector<std::int64_t>> batches(64);
    std::uint64_t n = 0;
    for (auto& batch : batches) {
        std::vector<std::uint64_t> numbers;
        while (numbers.size() < load.batch) {
            while (numbers.size() < load.batch) numbers.push_back(mixed(~n++) % load.rows);
            std::ranges::sort(numbers);
            numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
        }
        for (const auto number : numbers) batch.push_back(nth_id(number));
        std::ranges::sort(batch, {}, [](std::int64_t id) { return mixed(static_cast<std::uint64_t>(id)); });
    }
    return batches;
}

/// Processor time of this thread, so that pauses by other programs do not count.
inline double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Pulls the ids number `from` to `to` for the first time; returns the processor seconds of each batch.
template <class Table>
std::vector<double> fill(Table& table, const TableLoad& load, std::size_t from, std::size_t to) {
    std::vector<std::int64_t> ids;
    std::vector<float> rows(load.batch * load.width);
    std::vector<double> seconds;
    for (auto n = from; n < to; n += ids.size()) {
        ids.clear();
        for (auto i = n; i < std::min(n + load.batch, to); ++i) ids.push_back(nth_id(i));
        const auto begin = processor_seconds();
        table.pull(ids, std::span(rows).first(ids.size() * load.width));
        seconds.push_back(processor_seconds() - begin);
    }
    return seconds;
}

/// Prints one number: million keys per second (insert, by processor time; pull; push); the 99th percentile of
/// the processor time of pulls of new ids while the table grows, in microseconds (growth); bytes per row
/// besides its weights and state, by the growth of the process, and on stderr also by the table's own count
/// (memory).
template <class Table>
void run(Table& table, const TableLoad& load, std::size_t state_floats, const auto& own_bytes) {
    const auto before = resident_bytes();
    if (load.what == "memory") {
        // Twelve measurements per doubling, so that no peak between two of them is missed.
        const auto payload = 4.0 * static_cast<double>(load.width + state_floats);
        double worst = 0;
        std::size_t filled = 0;
        for (double part = 0.1; part < 1.2; part *= 1.0594630943592953) {
            const auto to =
                std::min(load.rows, static_cast<std::size_t>(part * static_cast<double>(load.rows)));
            fill(table, load, filled, to);
            filled = to;
            const auto rows = static_cast<double>(filled);
            const auto resident = static_cast<double>(resident_bytes() - before) / rows - payload;
            const auto own = static_cast<double>(own_bytes()) / rows - payload;
            fmt::print(stderr, "{} rows: {:.2f} B a row by RSS, {:.2f} by its own count\n", filled, resident,
                       own);
            worst = std::max(worst, resident);
        }
        fmt::print("{}\n", worst);
        return;
    }
    auto seconds = fill(table, load, 0, load.rows);
    if (load.what == "growth") {
        std::ranges::sort(seconds);
        fmt::print(stderr, "p50 {:.1f} us, longest {:.1f} us\n", 1e6 * seconds[seconds.size() / 2],
                   1e6 * seconds.back());
        fmt::print("{}\n", 1e6 * seconds[seconds.size() * 99 / 100]);
        return;
    }
    if (load.what == "insert") {
        double sum = 0;
        for (const auto s : seconds) sum += s;
        fmt::print("{}\n", 1e-6 * static_cast<double>(load.rows) / sum);
        return;
    }
    table.settle();
    const auto batches = batches_of(load);
    std::vector<float> values(load.batch * load.width, 0.001F);
    std::size_t next = 0;
    const auto rate = steady_rate(
        [&] {
            const auto& ids = batches[next++ % batches.size()];
            if (load.what == "pull")
                table.pull(ids, values);
            else
                table.push(ids, values);
        },
        [](double own) { return own; }, 5);
    fmt::print("{}\n", 1e-6 * rate * static_cast<double>(load.batch));
}

inline TableLoad load_of(int argc, char** argv) {
    if (argc != 6)
        throw std::runtime_error("arguments: insert|pull|push|growth|memory sgd|adam WIDTH BATCH ROWS");
    return {argv[1], argv[2], std::stoul(argv[3]), std::stoul(argv[4]), std::stoul(argv[5])};
}

}  // namespace dtrain::benchmarks
