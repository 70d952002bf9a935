// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// table_spill MEMORY TIMES uniform|zipf WIDTH BATCH FOLDER|-: a table with TIMES times as many rows as fit
// into MEMORY bytes, pulled and pushed batch by batch. Prints million keys per second; each key is pulled and
// pushed. With "-" there is no limit and nothing is on disk.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/checksum.hpp"
#include "ps/table/sparse_table.hpp"
#include "table_load.hpp"

namespace {

using namespace dtrain;
using Clock = std::chrono::steady_clock;

struct Load {
    std::size_t memory;
    double times;
    bool is_zipf;
    std::size_t width;
    std::size_t batch;
    std::string folder;
};

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The ids of a table with `rows` rows: the n-th is mixed(n).
class Ids {
  public:
    Ids(std::uint64_t rows, bool is_zipf) : rows_(rows), is_zipf_(is_zipf) {}

    /// Without duplicates, as clients send them.
    std::vector<std::int64_t> batch(std::size_t size) {
        std::vector<std::int64_t> ids(size);
        for (auto& id : ids) id = static_cast<std::int64_t>(mixed(number()));
        std::ranges::sort(ids);
        ids.erase(std::ranges::unique(ids).begin(), ids.end());
        return ids;
    }

  private:
    /// A row number, uniform or with a probability proportional to 1 / (n + 1).
    std::uint64_t number() {
        const auto dice = static_cast<double>(mixed(~next_++) >> 11U) * 0x1p-53;
        const auto rows = static_cast<double>(rows_);
        const auto position = is_zipf_ ? std::exp(dice * std::log(rows + 1)) - 1 : dice * rows;
        return std::min(rows_ - 1, static_cast<std::uint64_t>(position));
    }

    std::uint64_t rows_;
    bool is_zipf_;
    std::uint64_t next_ = 0;
};

class Table {
  public:
    explicit Table(const Load& load)
        : table_(
              {.name = "clicks",
               .width = load.width,
               .initializer = ps::UniformRow{0.05},
               .optimizer = Adagrad{}},
              load.folder == "-" ? std::nullopt : std::optional(ps::SpillOptions{load.folder, load.memory})),
          values_(load.batch * load.width, 0.001F) {}

    /// @returns the time in seconds
    double use(const std::vector<std::int64_t>& ids) {
        const auto values = std::span(values_).first(ids.size() * table_.width());
        const auto begin = Clock::now();
        table_.pull(ids, values);
        table_.push({ids, values}, {.step = ++step_});
        return seconds_since(begin);
    }

    ps::SparseTable& table() { return table_; }

  private:
    ps::SparseTable table_;
    std::vector<float> values_;
    std::int64_t step_ = 0;
};

void run(const Load& load) {
    constexpr double bytes_of_entry = 10;  // index memory per row, with some room for a batch
    constexpr double warm_up = 5;          // seconds
    constexpr double measured = 5;
    Table table(load);
    const auto fits = static_cast<double>(load.memory) * 7 / 8 /
                      (static_cast<double>(table.table().row_bytes()) + bytes_of_entry);
    const auto rows = static_cast<std::uint64_t>(load.times * fits);
    // Rare ids first, so that the frequent ones are the most recently used; new rows only need their initial
    // values.
    std::vector<float> values(load.batch * load.width);
    const auto fill_begin = Clock::now();
    for (std::uint64_t left = rows; left > 0;) {
        std::vector<std::int64_t> ids(std::min<std::uint64_t>(load.batch, left));
        for (auto& id : ids) id = static_cast<std::int64_t>(mixed(--left));
        table.table().pull(ids, std::span(values).first(ids.size() * load.width));
    }
    const auto fill = seconds_since(fill_begin);
    Ids ids(rows, load.is_zipf);
    for (const auto begin = Clock::now(); seconds_since(begin) < warm_up;) table.use(ids.batch(load.batch));
    std::vector<double> seconds;
    double processor = 0;
    double sum = 0;
    double keys = 0;
    while (sum < measured) {
        const auto batch = ids.batch(load.batch);
        const auto before = benchmarks::processor_seconds();
        seconds.push_back(table.use(batch));
        processor += benchmarks::processor_seconds() - before;
        sum += seconds.back();
        keys += static_cast<double>(batch.size());
    }
    std::ranges::sort(seconds);
    fmt::print(
        stderr,
        "{} rows, {} on disk, {:.1f} MB of memory; filled with {:.3f} M rows/s; batches p50 {:.2f} ms, "
        "p99 {:.2f} ms, longest {:.1f} ms; {:.2f} us of the thread's processor time a key\n",
        table.table().size(), table.table().rows_on_disk(), 1e-6 * static_cast<double>(table.table().bytes()),
        1e-6 * static_cast<double>(rows) / fill, 1e3 * seconds[seconds.size() / 2],
        1e3 * seconds[seconds.size() * 99 / 100], 1e3 * seconds.back(), 1e6 * processor / keys);
    fmt::print("{}\n", 1e-6 * keys / sum);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 7 || (std::string(argv[3]) != "uniform" && std::string(argv[3]) != "zipf"))
            throw std::runtime_error("arguments: MEMORY TIMES uniform|zipf WIDTH BATCH FOLDER|-");
        run({std::stoul(argv[1]), std::stod(argv[2]), std::string(argv[3]) == "zipf", std::stoul(argv[4]),
             std::stoul(argv[5]), argv[6]});
    } catch (const std::exception& error) {
        fmt::print(stderr, "table_spill: {}\n", error.what());
        return 1;
    }
}
