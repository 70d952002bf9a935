// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
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
    std::vector<ShardFacts> shards;
};

inline constexpr const char* index_name = "index.h5";

/// One shard's facts as one line of JSON, to send them between ranks.
std::string to_json(const ShardFacts& facts);
/// @throws Error when it is none.
ShardFacts shard_facts_from_json(std::string_view text);

/// Writes an HDF5 file that shows the shards beside it as one file: virtual datasets, and the header as
/// attributes of the root and of /job. In its user block, before HDF5's own bytes, are a line "dtrain
/// checkpoint 2 ...", with the XXH3 of all bytes that follow, and the index as JSON, which is what
/// read_index() uses: dtrain reads checkpoints without HDF5. Synced. The same index makes the same bytes.
/// @throws Error naming the path.
void write_index(const std::filesystem::path& path, const CheckpointIndex& index);

/// @throws UsageError naming the path when it cannot be read, is no index, or any byte of it is not as it was
/// written.
CheckpointIndex read_index(const std::filesystem::path& path);

}  // namespace dtrain::io
