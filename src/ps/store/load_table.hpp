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

/// The files of one table in one checkpoint, one of each server that wrote it, in any order.
struct SavedTable {
    std::filesystem::path folder;
    std::vector<TableFile> files;
};

struct LoadedTable {
    SparseTable table;
    std::int64_t step = 0;           ///< of the job, of the last checkpoint
    std::optional<TableFile> saved;  ///< for TableSaver: nothing when as many servers as now did not write it
    std::vector<std::string> warnings;  ///< options that are not those of the saved table
};

/// A table as it was saved, or the part of it that this server has among any number of servers: all later
/// pulls and pushes have the bits that they would have had. With another number of servers each reads what
/// its share needs, and ids that wait for admission by count may have been touched less often than it thinks,
/// never more often. It tracks its changes, and has changed nothing. It may have more rows than its
/// dict_size, which is of all servers together: who knows them all is to look.
/// @param chain a save of all rows and then any number of saves of changes, each of the one before
/// @param spill as SparseTable; the saved table may have had another limit, or none
/// @throws UsageError naming the file that is missing, damaged, of another table (with both layouts), or no
/// part of the chain. There is no table then, and the checkpoint before can be tried.
LoadedTable load_table(const TableOptions& options, std::span<const SavedTable> chain, const Share& share,
                       const std::optional<SpillOptions>& spill = {});

/// Reads all that load_table() would, of all servers, and keeps none of it.
/// @param chain as load_table(); not empty @throws UsageError as load_table()
void check_saved_table(std::span<const SavedTable> chain);

/// Reads all of a file, and compares every byte with its checksum.
/// @throws UsageError as load_table()
void check_table_file(const std::filesystem::path& path);

}  // namespace dtrain::ps
