// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include <dtrain/checkpoint.hpp>

#include "io/checkpoint_index.hpp"

namespace dtrain::io {

/// A checkpoint on disk, whose values go straight into memory of the caller's.
class StoredCheckpoint {
  public:
    /// Reads what it says besides the values; of a format 1 file these too, since one checksum is over all.
    /// @throws UsageError naming the file that cannot be read, is no checkpoint or damaged.
    explicit StoredCheckpoint(const std::filesystem::path& path);

    /// What would be read from there.
    StoredCheckpoint(std::filesystem::path path, Checkpoint content);

    const std::filesystem::path& path() const { return path_; }
    const CheckpointHeader& header() const { return index_.header; }
    /// Named "/parameters/fc_0.weight", "/optimizer/adam.step".
    const std::vector<TensorInfo>& tensors() const { return index_.tensors; }

    /// Looks at the files' sizes alone, so that no memory is taken for values that are nowhere.
    /// @throws UsageError naming the file that is damaged or missing
    void check_sizes() const;

    /// Fills TensorInfo::bytes() bytes for each of tensors(). Where there is no memory, values are checked
    /// and not kept.
    /// @throws UsageError naming the file that is damaged or missing; the memory then holds anything.
    void read(std::span<std::byte* const> memory) const;

  private:
    std::filesystem::path path_;
    CheckpointIndex index_;
    std::vector<std::filesystem::path> files_;   ///< of the index's shards
    std::shared_ptr<const Checkpoint> content_;  ///< of a format 1 file
};

/// A format 1 file. @throws UsageError as load_checkpoint().
Checkpoint load_file(const std::filesystem::path& path);

/// Where the values lie in memory.
std::span<const std::byte> bytes_of(const CheckpointTensor& tensor);

/// The tensor without its values, under its name in `group`: "/parameters/" or "/optimizer/".
TensorInfo info_of(const std::string& group, const std::string& name, const CheckpointTensor& tensor);

/// All of it, in memory of its own. @throws UsageError as read().
Checkpoint loaded(const StoredCheckpoint& stored);

}  // namespace dtrain::io
