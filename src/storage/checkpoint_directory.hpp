// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <dtrain/checkpoint.hpp>

#include "storage/checkpoint_index.hpp"

/// A checkpoint that is a directory: shards, each written by one rank, and an index. Steps to create one, in
/// this order: begin_directory() on one process; write_shard() for every shard, anywhere; commit_directory()
/// on one process.
namespace dtrain::storage {

/// Where the checkpoint `path` is created: ".tmp-NAME" beside it.
std::filesystem::path temporary_path(const std::filesystem::path& path);

/// The name of the checkpoint that is, or will be, at `path`.
std::string checkpoint_name(const std::filesystem::path& path);

/// Creates temporary_path() of `path`, empty. @throws Error naming the path
void begin_directory(const std::filesystem::path& path);

/// Deletes what was written at temporary_path(), for a checkpoint that cannot be completed.
void abandon_checkpoint(const std::filesystem::path& path) noexcept;

/// Calls `action`; if it throws, deletes what was written of the checkpoint.
/// @param is_first whether this rank, of several that write the checkpoint, deletes it
template <class Action>
void or_clean_up(const std::filesystem::path& path, const Action& action, bool is_first = true) {
    try {
        action();
    } catch (...) {
        if (is_first) abandon_checkpoint(path);
        throw;
    }
}

/// Syncs temporary_path() and renames it to `path`, replacing what is there; atomically if the file system
/// can exchange two names. @throws Error naming the path
void complete_directory(const std::filesystem::path& path);

/// Writes the index, then calls complete_directory().
/// @throws Error naming the path; also if a shard is not visible from this process
void commit_directory(const std::filesystem::path& path, const CheckpointIndex& index);

}  // namespace dtrain::storage
