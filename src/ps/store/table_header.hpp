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

#include "io/block_stream.hpp"
#include "ps/table/sparse_table.hpp"

/// The file of one server's rows of one table: a line "dtrain table 1 of N bytes, xxh3 HEX", the header as
/// JSON and zeros, N bytes together; then blocks, each filled up with zeros to a multiple of 4096 bytes: ids
/// of erased rows (in a file of changes), touch counters (of a table with admission by count), rows. Of each
/// block the header has the checksum, and the first line has that of the header: every byte is in one of
/// them. All is little endian.
namespace dtrain::ps {

/// The ids of server `server` of `servers`, by server_of().
struct Share {
    std::uint32_t server = 0;
    std::uint32_t servers = 1;
    friend bool operator==(const Share&, const Share&) = default;
};

/// Which part of a share's ids another share has, from 0 to 1.
double common_part(const Share& of, const Share& other);

struct TableHeader {
    TableOptions options;
    Share share;
    WhichRows which = WhichRows::all;
    std::string checkpoint;           ///< what its owner calls it
    std::optional<std::string> base;  ///< TableFile::sum of what changed since
    std::int64_t step = 0;
    std::uint32_t day = 0;
    TableCounts counts;
    std::size_t row_bytes = 0;
    std::uint64_t rows = 0;
    std::uint64_t erased = 0;
    std::uint64_t touch_counters = 0;
    std::size_t block_bytes = 0;      ///< at most, but that a block has at least one row; a multiple of 4096
    std::vector<std::uint64_t> sums;  ///< extent_sum() of each block
};

enum class BlockContent { erased, touches, rows };

struct StoredBlock {
    BlockContent content = BlockContent::rows;
    std::uint64_t first = 0;  ///< of its kind
    std::size_t items = 0;
    std::size_t item_bytes = 0;
    io::BlockPlace place;
};

/// Where everything lies: a function of the header without its sums.
struct TableLayout {
    std::size_t header_bytes = 0;
    std::vector<StoredBlock> blocks;
    std::int64_t bytes = 0;  ///< of the file
};

TableLayout layout_of(const TableHeader& header);

/// The bytes that the file begins with. @throws UsageError when the table's name is no UTF-8
std::string header_block(const TableHeader& header);

/// The name of a table's file: "clicks-0001-of-0003.rows"; what is no message, digit, '.', '_' or '-' is
/// written as %2F.
std::string table_file_name(const std::string& table, const Share& share);

/// What one needs to know of a table's file to be sure of every byte of it.
struct TableFile {
    std::string table;
    Share share;
    WhichRows which = WhichRows::all;
    std::string file;  ///< name in its folder
    std::int64_t bytes = 0;
    std::string sum;  ///< XXH3 of the header's bytes
    std::uint64_t rows = 0;
    friend bool operator==(const TableFile&, const TableFile&) = default;
};

/// One line of JSON, for the manifest of a checkpoint.
std::string to_json(const TableFile& file);
/// @throws UsageError when it is none
TableFile table_file_from_json(std::string_view text);

/// Info of a file that begins with the block.
TableFile info_of(const TableHeader& header, std::string_view block);

struct StoredHeader {
    TableHeader header;
    TableLayout layout;
    TableFile info;
};

/// Reads the header of a file and checks it, and the size of the file.
/// @throws UsageError naming the path when it cannot be read, is no table or is damaged
StoredHeader read_table_header(const std::filesystem::path& path);

/// Says that the file is damaged, and what to do.
[[noreturn]] void refuse_damaged(const std::filesystem::path& path, const std::string& what);

}  // namespace dtrain::ps
