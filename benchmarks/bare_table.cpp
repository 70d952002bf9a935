// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// bare_table WHAT OPTIMIZER WIDTH BATCH ROWS: the table of bare_table.hpp, for comparison with the table of
// src/ps.
#include "bare_table.hpp"

#include "table_load.hpp"

int main(int argc, char** argv) {
    try {
        const auto load = dtrain::benchmarks::load_of(argc, argv);
        const bool is_adam = load.optimizer == "adam";
        dtrain::benchmarks::BareTable table(load.width, is_adam);
        dtrain::benchmarks::run(table, load, is_adam ? 2 * load.width : 0, [&] { return table.bytes(); });
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bare_table: %s\n", error.what());
        return 1;
    }
}
