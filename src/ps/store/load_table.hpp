// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ps/store/table_header.hpp"
#include "ps/table/sparse_table.hpp"

namespace dtrain::ps {

/// The files of one table in one checkpoint, one per server that wrote it, in any order.
struct SavedTable {
    std::filesystem::path folder;
    std::vector<TableFile> files;
};

struct LoadedTable {
    SparseTable table;
    std::int64_t step = 0;              ///< the job's step at the last checkpoint
    std::optional<TableFile> saved;     ///< for TableSaver; nothing if the number of servers has changed
    std::vector<std::string> warnings;  ///< options that differ from those of the saved table
};

/// Loads a saved table, or the shard of it that this server holds among any number of servers. All later
/// pulls and pushes give the same bits as without the interruption. If the number of servers changes, each
/// server reads what its shard needs, and ids waiting for admission by count may have lower counts than
/// touches, never higher. The loaded table tracks changes, with none so far. It may have more rows than its
/// dict_size, which limits all servers together: the caller who knows all of them must check.
/// @param chain a save of all rows, then any number of saves of changes, each relative to the previous one
/// @param spill as SparseTable; the saved table may have had another limit, or none
/// @throws UsageError naming the file that is missing, damaged, of another table (with both layouts), or not
/// part of the chain. No table is created then, and an earlier checkpoint can be tried.
LoadedTable load_table(const TableOptions& options, std::span<const SavedTable> chain,
                       const ServerShard& shard, const std::optional<SpillOptions>& spill = {});

/// Reads and verifies everything that load_table() would read on all servers, without keeping it.
/// @param chain as load_table(); not empty @throws UsageError as load_table()
void check_saved_table(std::span<const SavedTable> chain);

/// Reads a whole file and verifies all its checksums.
/// @throws UsageError as load_table()
void check_table_file(const std::filesystem::path& path);

}  // namespace dtrain::ps
