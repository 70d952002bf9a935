// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/shard_plan.hpp"

namespace dtrain::io {

/// Where a piece lies in its shard, and its sum.
struct PieceInfo {
    Piece piece;
    std::int64_t offset = 0;
    std::uint64_t sum = 0;  ///< extent_sum() of its values
};

/// What the index has to know of a shard so that every byte of the shard can be checked.
struct ShardInfo {
    std::int64_t bytes = 0;   ///< of the file
    std::int64_t begin = 0;   ///< bytes before this one are checked otherwise
    std::uint64_t frame = 0;  ///< XXH3 of all bytes from there on between the pieces: HDF5's own
    std::vector<PieceInfo> pieces;
};

/// "shard-0003.h5"
std::string shard_name(std::size_t shard);

/// Values of a piece in memory, as many rows as it says.
struct PieceSource {
    Piece piece;
    const std::byte* data = nullptr;
};

/// ShardInfo::frame of the file. @throws std::system_error naming the path.
std::uint64_t frame_sum(const std::filesystem::path& path, std::span<const TensorInfo> tensors,
                        const ShardInfo& info);

/// Writes one rank's part: an HDF5 file with a contiguous dataset per piece, under its tensor's name; synced.
/// HDF5 makes the file's structure; the values are written into it past HDF5 (write_extents()).
/// @throws Error naming the path.
ShardInfo write_shard(const std::filesystem::path& path, std::span<const TensorInfo> tensors,
                      std::span<const PieceSource> pieces);

/// Before memory is taken for what the shard says it has. @throws UsageError when the file has another size
void check_size(const std::filesystem::path& path, const ShardInfo& info);

/// Fills `targets` (as PieceSource, one for each piece of the shard in its order; null: its piece is checked
/// and not kept) and checks all of the file.
/// @throws UsageError naming the path and what is damaged.
void read_shard(const std::filesystem::path& path, std::span<const TensorInfo> tensors, const ShardInfo& info,
                std::span<std::byte* const> targets);

}  // namespace dtrain::io
