// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ps/table/sparse_table.hpp"
#include "storage/block_stream.hpp"

/// The file of one server's rows of one table. Format: a line "dtrain table 1 of N bytes, xxh3 HEX", the
/// header as JSON, and zeros, N bytes in total; then blocks, each padded with zeros to a multiple of 4096
/// bytes: ids of erased rows (in a file of changes), touch counters (of a table with admission by count),
/// rows. The header contains the checksum of each block, and the first line the checksum of the header, so
/// every byte is covered. All numbers are little endian.
namespace dtrain::ps {

/// The ids of server `server` of `servers`, see server_of().
struct ServerShard {
    std::uint32_t server = 0;
    std::uint32_t servers = 1;
    friend bool operator==(const ServerShard&, const ServerShard&) = default;
};

/// The fraction of the ids of one shard that another shard has, from 0 to 1.
double common_part(const ServerShard& of, const ServerShard& other);

struct TableHeader {
    TableOptions options;
    ServerShard shard;
    WhichRows which = WhichRows::all;
    std::string checkpoint;           ///< name of the checkpoint
    std::optional<std::string> base;  ///< TableFile::sum of the save that the changes are relative to
    std::int64_t step = 0;
    std::uint32_t day = 0;
    TableCounts counts;
    std::size_t row_bytes = 0;
    std::uint64_t rows = 0;
    std::uint64_t erased = 0;
    std::uint64_t touch_counters = 0;
    /// Maximum size, except that a block has at least one row; a multiple of 4096.
    std::size_t block_bytes = 0;
    std::vector<std::uint64_t> sums;  ///< extent_sum() of each block
};

enum class BlockContent { erased, touches, rows };

struct StoredBlock {
    BlockContent content = BlockContent::rows;
    std::uint64_t first = 0;  ///< index of its first item among those of the same content
    std::size_t items = 0;
    std::size_t item_bytes = 0;
    storage::BlockRange range;
};

/// Offsets in a file; determined by the header without its sums.
struct TableLayout {
    std::size_t header_bytes = 0;
    std::vector<StoredBlock> blocks;
    std::int64_t bytes = 0;  ///< size of the file
};

TableLayout layout_of(const TableHeader& header);

/// The first bytes of the file. @throws UsageError if the table's name is not UTF-8
std::string header_block(const TableHeader& header);

/// The name of a table's file: "clicks-0001-of-0003.rows". Characters other than letters, digits, '.', '_'
/// and '-' are percent-encoded, as in %2F.
std::string table_file_name(const std::string& table, const ServerShard& shard);

/// Identifies a table's file and, through checksums, every byte of it.
struct TableFile {
    std::string table;
    ServerShard shard;
    WhichRows which = WhichRows::all;
    std::string file;  ///< name in its folder
    std::int64_t bytes = 0;
    std::string sum;  ///< XXH3 of the header's bytes
    std::uint64_t rows = 0;
    friend bool operator==(const TableFile&, const TableFile&) = default;
};

/// One line of JSON, for the manifest of a checkpoint.
std::string to_json(const TableFile& file);
/// @throws UsageError if it is invalid
TableFile table_file_from_json(std::string_view text);

/// The description of a file that begins with this header block.
TableFile info_of(const TableHeader& header, std::string_view block);

struct StoredHeader {
    TableHeader header;
    TableLayout layout;
    TableFile info;
};

/// Reads and validates the header of a file, and checks the file size.
/// @throws UsageError naming the path if it cannot be read, is not a table or is damaged
StoredHeader read_table_header(const std::filesystem::path& path);

/// Throws a UsageError saying that the file is damaged, with the remedy.
[[noreturn]] void refuse_damaged(const std::filesystem::path& path, const std::string& what);

}  // namespace dtrain::ps
