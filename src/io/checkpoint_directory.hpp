// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <dtrain/checkpoint.hpp>

#include "io/checkpoint_index.hpp"

/// A checkpoint that is a directory: shards, each written by one rank, and an index. Steps of making one, in
/// this order: begin_directory() on one process; write_shard() of every shard, anywhere; commit_directory()
/// on one process.
namespace dtrain::io {

/// Where the checkpoint `path` is made: ".tmp-NAME" beside it.
std::filesystem::path temporary_path(const std::filesystem::path& path);

/// The name of the checkpoint that is, or is made, at `path`.
std::string checkpoint_name(const std::filesystem::path& path);

/// Makes temporary_path() of `path`, empty. @throws Error naming the path.
void begin_directory(const std::filesystem::path& path);

/// Takes away what was written at temporary_path(), for a checkpoint that cannot be completed.
void abandon_checkpoint(const std::filesystem::path& path) noexcept;

/// Does it; what was written of the checkpoint goes when it throws.
/// @param is_first of several ranks that write it, the one that takes it away
template <class Action>
void or_abandon(const std::filesystem::path& path, const Action& action, bool is_first = true) {
    try {
        action();
    } catch (...) {
        if (is_first) abandon_checkpoint(path);
        throw;
    }
}

/// Syncs temporary_path() and gives it the name; what `path` was before is gone, and was there until then
/// where the file system can exchange two names. @throws Error naming the path
void complete_directory(const std::filesystem::path& path);

/// Writes the index, then as complete_directory().
/// @throws Error naming the path; also when a shard is not to be seen from here.
void commit_directory(const std::filesystem::path& path, const CheckpointIndex& index);

}  // namespace dtrain::io
