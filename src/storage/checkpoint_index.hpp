// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/checkpoint.hpp>

#include "storage/block_io.hpp"
#include "storage/shard_file.hpp"

namespace dtrain::storage {

/// Everything in a checkpoint except the values of its tensors.
struct CheckpointIndex {
    CheckpointHeader header;
    std::vector<TensorInfo> tensors;
    std::vector<ShardInfo> shards;
};

inline constexpr const char* index_name = "index.h5";
/// The file that replaces the index in a checkpoint of parameter servers.
inline constexpr const char* servers_name = "servers.json";

/// A ShardInfo as one line of JSON, to be sent between ranks.
std::string to_json(const ShardInfo& info);
/// @throws Error if it is invalid
ShardInfo shard_info_from_json(std::string_view text);

/// Writes an HDF5 file that presents the shards beside it as one file: virtual datasets, and the header as
/// attributes of the root group and of /job. Its user block, before HDF5's own bytes, contains a line "dtrain
/// checkpoint 2 ..." with the XXH3 of all following bytes, and the index as JSON. read_index() uses only the
/// latter: dtrain reads checkpoints without HDF5. Synced. Equal indices give equal bytes.
/// @throws Error naming the path
void write_index(const std::filesystem::path& path, const CheckpointIndex& index);

/// @throws UsageError naming the path if it cannot be read, is not an index, or any byte of it was changed
CheckpointIndex read_index(const std::filesystem::path& path);

/// Offsets in a checkpoint that is one file, into which several processes write.
struct FileLayout {
    std::int64_t bytes = 0;
    std::int64_t index_bytes = 0;       ///< size of the user block, before HDF5's own bytes
    std::vector<std::int64_t> offsets;  ///< of each tensor; 0 if it has no values

    /// Where a piece of one of the `tensors` goes. @param values of the piece
    WriteExtent extent_of(const Piece& piece, std::span<const TensorInfo> tensors,
                          const std::byte* values) const;
};

/// A checkpoint that is one file, format 3: an HDF5 file with the tensors as contiguous datasets and, in its
/// user block, an index as in write_index(), whose single shard is this file. Creates or overwrites the file,
/// without the index and the values. Call on one process.
/// @param pieces in which the values will be written and checked
/// @throws std::system_error, Error
FileLayout begin_checkpoint_file(const std::filesystem::path& path, const CheckpointHeader& header,
                                 std::span<const TensorInfo> tensors, std::span<const Piece> pieces);

/// Writes the index once all values are written, and syncs.
/// @param index with one shard, whose pieces are known
/// @throws std::system_error, Error
void finish_checkpoint_file(const std::filesystem::path& path, const FileLayout& layout,
                            const CheckpointIndex& index);

/// Nothing if the file is not of format 3.
/// @throws UsageError naming the path if any byte of the index was changed
std::optional<CheckpointIndex> read_index_of_file(const std::filesystem::path& path);

}  // namespace dtrain::storage
