// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include <dtrain/checkpoint.hpp>

#include "storage/checkpoint_index.hpp"

namespace dtrain::storage {

/// A checkpoint on disk, whose values are read directly into the caller's memory.
class StoredCheckpoint {
  public:
    /// Reads everything except the values; for a file of format 1 (dtrain 0.1) also the values, since one
    /// checksum covers the whole file.
    /// @throws UsageError naming the file that cannot be read, is not a checkpoint or is damaged
    explicit StoredCheckpoint(const std::filesystem::path& path);

    /// Uses `content` as if it had been read from `path`.
    StoredCheckpoint(std::filesystem::path path, Checkpoint content);

    const std::filesystem::path& path() const { return path_; }
    const CheckpointHeader& header() const { return index_.header; }
    /// Named "/parameters/fc_0.weight", "/optimizer/adam.step".
    const std::vector<TensorInfo>& tensors() const { return index_.tensors; }

    /// Checks only the file sizes, so that no memory is allocated for values that do not exist.
    /// @throws UsageError naming the file that is damaged or missing
    void check_sizes() const;

    /// Fills TensorInfo::bytes() bytes for each of tensors(). Where the pointer is null, values are only
    /// verified.
    /// @throws UsageError naming the file that is damaged or missing; the content of the memory is then
    /// undefined
    void read(std::span<std::byte* const> memory) const;

  private:
    std::filesystem::path path_;
    CheckpointIndex index_;
    std::vector<std::filesystem::path> files_;   ///< of the index's shards
    std::shared_ptr<const Checkpoint> content_;  ///< of a format 1 file
};

/// Loads a format 1 file. @throws UsageError as load_checkpoint()
Checkpoint load_file(const std::filesystem::path& path);

/// The values' memory.
std::span<const std::byte> bytes_of(const CheckpointTensor& tensor);

/// The description of a tensor under its name in `group`: "/parameters/" or "/optimizer/".
TensorInfo info_of(const std::string& group, const std::string& name, const CheckpointTensor& tensor);

/// Reads everything into new memory. @throws UsageError as read()
Checkpoint loaded(const StoredCheckpoint& stored);

}  // namespace dtrain::storage
