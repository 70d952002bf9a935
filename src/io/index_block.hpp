// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// What a file of a checkpoint begins with, before HDF5's own bytes: a line with a name and a checksum, and
/// the index as JSON.
namespace dtrain::io {

/// "NAME of BYTES bytes, xxh3 SUM\n", with the sum of what is behind the line.
std::string sum_line(std::string_view name, std::size_t bytes, std::string_view behind);

/// Bytes of the block for JSON of that length: a power of two, as HDF5 wants it.
std::size_t index_block_bytes(std::string_view name, std::size_t json_bytes);

/// Writes the block into the zeros at the beginning of `content`. Its checksum is over all of `content`.
void put_index_block(std::string& content, std::string_view name, std::string_view json,
                     std::size_t block_bytes);

/// Bytes of the block that `content`, the beginning of a file, says it has; nothing when it does not begin
/// with that name.
std::optional<std::size_t> index_block_in(std::string_view content, std::string_view name);

/// The JSON of the block; nothing when any byte of `content` is not as it was written.
std::optional<std::string_view> json_of_index_block(std::string_view content, std::string_view name);

}  // namespace dtrain::io
