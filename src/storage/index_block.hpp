// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// The start of a checkpoint file, before HDF5's own bytes: a line with a name and a checksum, and the index
/// as JSON.
namespace dtrain::storage {

/// "NAME of BYTES bytes, xxh3 SUM\n", with the checksum of what follows the line.
std::string sum_line(std::string_view name, std::size_t bytes, std::string_view behind);

/// Size of a block for this much JSON: a power of two, as HDF5 requires.
std::size_t index_block_bytes(std::string_view name, std::size_t json_bytes);

/// Writes the block over the zeros at the start of `content`. Its checksum covers all of `content`.
void put_index_block(std::string& content, std::string_view name, std::string_view json,
                     std::size_t block_bytes);

/// The block size given at the start of a file, `content`; nothing if it does not start with that name.
std::optional<std::size_t> index_block_in(std::string_view content, std::string_view name);

/// The JSON of the block; nothing if any byte of `content` was changed.
std::optional<std::string_view> json_of_index_block(std::string_view content, std::string_view name);

}  // namespace dtrain::storage
