// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "storage/shard_plan.hpp"

namespace dtrain::storage {

/// Location of a piece in its shard, and its checksum.
struct PieceInfo {
    Piece piece;
    std::int64_t offset = 0;
    std::uint64_t sum = 0;  ///< extent_sum() of its values
};

/// What the index stores about a shard so that every byte of the shard can be verified.
struct ShardInfo {
    std::int64_t bytes = 0;   ///< size of the file
    std::int64_t begin = 0;   ///< bytes before this offset are verified otherwise
    std::uint64_t frame = 0;  ///< XXH3 of all other bytes outside of the pieces: HDF5's own
    std::vector<PieceInfo> pieces;
};

/// "shard-0003.h5"
std::string shard_name(std::size_t shard);

/// The values of a piece in memory, with the piece's number of rows.
struct PieceSource {
    Piece piece;
    const std::byte* data = nullptr;
};

/// Computes ShardInfo::frame of the file. @throws std::system_error naming the path
std::uint64_t frame_sum(const std::filesystem::path& path, std::span<const TensorInfo> tensors,
                        const ShardInfo& info);

/// Writes one rank's shard: an HDF5 file with a contiguous dataset per piece, named after its tensor; synced.
/// HDF5 creates the file's structure; the values are written without HDF5 (write_extents()).
/// @throws Error naming the path
ShardInfo write_shard(const std::filesystem::path& path, std::span<const TensorInfo> tensors,
                      std::span<const PieceSource> pieces);

/// Call before allocating memory for what the shard claims to contain. @throws UsageError if the file has
/// another size
void check_size(const std::filesystem::path& path, const ShardInfo& info);

/// Fills `targets` (as in PieceSource, one per piece of the shard, in order; null: the piece is only
/// verified) and verifies the whole file.
/// @throws UsageError naming the path and what is damaged
void read_shard(const std::filesystem::path& path, std::span<const TensorInfo> tensors, const ShardInfo& info,
                std::span<std::byte* const> targets);

}  // namespace dtrain::storage
