// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// sparse_table WHAT OPTIMIZER WIDTH BATCH ROWS [THREADS]: the table of src/ps under the load of
// table_load.hpp.
#include "ps/table/sparse_table.hpp"

#include <string>

#include "table_load.hpp"

namespace {

class Table {
  public:
    Table(const dtrain::benchmarks::TableLoad& load, int threads) : table_(options_of(load)), team_(threads) {
        table_.work_with(&team_);
    }

    void pull(std::span<const std::int64_t> ids, std::span<float> rows) { table_.pull(ids, rows); }

    void push(std::span<const std::int64_t> ids, std::span<const float> gradients) {
        table_.push({ids, gradients}, {.step = ++step_});
    }

    void settle() {
        while (table_.settle()) continue;
    }

    const dtrain::ps::SparseTable& table() const { return table_; }

  private:
    static dtrain::ps::TableOptions options_of(const dtrain::benchmarks::TableLoad& load) {
        dtrain::ps::TableOptions options{
            .name = "clicks", .width = load.width, .initializer = dtrain::ps::UniformRow{0.05}};
        if (load.optimizer == "adam") options.optimizer = dtrain::Adam{};
        return options;
    }

    dtrain::ps::SparseTable table_;
    dtrain::ps::TableTeam team_;
    std::int64_t step_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        const int threads = argc == 7 ? std::stoi(argv[6]) : 1;
        const auto load = dtrain::benchmarks::load_of(argc == 7 ? 6 : argc, argv);
        Table table(load, threads);
        dtrain::benchmarks::run(table, load, table.table().state_width(),
                                [&] { return table.table().bytes(); });
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sparse_table: %s\n", error.what());
        return 1;
    }
}
