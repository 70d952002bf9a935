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

#include "io/shard_file.hpp"

namespace dtrain::io {

/// Everything about a checkpoint but the values of its tensors.
struct CheckpointIndex {
    CheckpointHeader header;
    std::vector<TensorInfo> tensors;
    std::vector<ShardInfo> shards;
};

inline constexpr const char* index_name = "index.h5";
/// What a directory has instead into which parameter servers have saved.
inline constexpr const char* servers_name = "servers.json";

/// One shard's info as one line of JSON, to send them between ranks.
std::string to_json(const ShardInfo& info);
/// @throws Error when it is none.
ShardInfo shard_info_from_json(std::string_view text);

/// Writes an HDF5 file that shows the shards beside it as one file: virtual datasets, and the header as
/// attributes of the root and of /job. In its user block, before HDF5's own bytes, are a line "dtrain
/// checkpoint 2 ...", with the XXH3 of all bytes that follow, and the index as JSON, which is what
/// read_index() uses: dtrain reads checkpoints without HDF5. Synced. The same index makes the same bytes.
/// @throws Error naming the path.
void write_index(const std::filesystem::path& path, const CheckpointIndex& index);

/// @throws UsageError naming the path when it cannot be read, is no index, or any byte of it is not as it was
/// written.
CheckpointIndex read_index(const std::filesystem::path& path);

/// Where things lie in a checkpoint that is one file, into which several processes write.
struct FileLayout {
    std::int64_t bytes = 0;
    std::int64_t index_bytes = 0;       ///< before HDF5's own
    std::vector<std::int64_t> offsets;  ///< of each tensor; 0 when it has no values
};

/// A checkpoint that is one file, format 3: an HDF5 file with the tensors as contiguous datasets and, in its
/// user block, an index as write_index() has it, whose one shard is this file. Makes all of it but the index
/// and the values. On one process, into a file that is there or not.
/// @param pieces in which the values will be written and checked
/// @throws Error naming the path.
FileLayout begin_checkpoint_file(const std::filesystem::path& path, const CheckpointHeader& header,
                                 std::span<const TensorInfo> tensors, std::span<const Piece> pieces);

/// Writes the index when all values are written, and syncs. @param index with one shard, of which the pieces
/// are known. @throws Error naming the path.
void finish_checkpoint_file(const std::filesystem::path& path, const FileLayout& layout,
                            const CheckpointIndex& index);

/// Nothing when the file is none of format 3.
/// @throws UsageError naming the path when any byte of the index is not as it was written.
std::optional<CheckpointIndex> read_index_of_file(const std::filesystem::path& path);

}  // namespace dtrain::io
