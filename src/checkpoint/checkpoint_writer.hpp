// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include <dtrain/checkpoint.hpp>

namespace dtrain::checkpoint {

/// Brings a job's checkpoints to disk, some of them while training goes on. Failures of writing come out of
/// the next collective call, on all ranks that train. Every function is collective over these but the const
/// ones.
class CheckpointWriter {
  public:
    CheckpointWriter() = default;
    CheckpointWriter(const CheckpointWriter&) = delete;
    CheckpointWriter& operator=(const CheckpointWriter&) = delete;
    virtual ~CheckpointWriter() = default;

    /// Begins a checkpoint of the moment, after finish() of the one before.
    /// @throws Error on all ranks when the one before or this one cannot be written.
    virtual void start(const CheckpointHeader& header) = 0;

    /// True when this rank has nothing more to write for the checkpoint in progress.
    virtual bool part_is_written() const = 0;

    /// True between start() and commit().
    virtual bool waits_for_commit() const = 0;

    /// Once the parts of all ranks are written (otherwise it waits for them): makes the checkpoint whole.
    /// @throws Error on all ranks when a part could not be written.
    virtual void commit() = 0;

    /// Waits until the checkpoint in progress, if there is one, lies on disk under its name.
    /// @throws Error on all ranks when it does not.
    virtual void finish() = 0;

    /// The last one that was started.
    virtual const std::optional<std::filesystem::path>& last() const = 0;
};

}  // namespace dtrain::checkpoint
