// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include <dtrain/checkpoint.hpp>

namespace dtrain::checkpoint {

/// Writes a job's checkpoints, partly in the background. Write errors are thrown by the next collective call,
/// on all training ranks. All functions except the const ones are collective over the training ranks.
class CheckpointWriter {
  public:
    CheckpointWriter() = default;
    CheckpointWriter(const CheckpointWriter&) = delete;
    CheckpointWriter& operator=(const CheckpointWriter&) = delete;
    virtual ~CheckpointWriter() = default;

    /// Begins a checkpoint of the current state, after finish() of the previous one.
    /// @throws Error on all ranks if the previous one or this one cannot be written
    virtual void start(const CheckpointHeader& header) = 0;

    /// True if this rank has nothing more to write for the checkpoint in progress.
    virtual bool part_is_written() const = 0;

    /// True between start() and commit().
    virtual bool waits_for_commit() const = 0;

    /// Completes the checkpoint once the parts of all ranks are written; waits for them if necessary.
    /// @throws Error on all ranks if a part could not be written
    virtual void commit() = 0;

    /// Waits until the checkpoint in progress, if any, is on disk under its final name.
    /// @throws Error on all ranks if it cannot be written
    virtual void finish() = 0;

    /// The checkpoint that was started last.
    virtual const std::optional<std::filesystem::path>& last() const = 0;
};

}  // namespace dtrain::checkpoint
