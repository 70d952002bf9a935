// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/checkpoint.hpp>
#include <dtrain/communicator.hpp>
#include <dtrain/state_checkpoints.hpp>

#include "base/aligned_memory.hpp"
#include "base/background.hpp"
#include "checkpoint/checkpoint_writer.hpp"
#include "checkpoint/state_checkpoint.hpp"
#include "storage/block_io.hpp"
#include "storage/checkpoint_index.hpp"
#include "storage/shard_file.hpp"
#include "storage/shard_plan.hpp"

namespace dtrain::checkpoint {

/// Writes checkpoints of a State or of buffers. In async mode, start() copies what this rank writes, and a
/// thread writes it to disk without using MPI. A collective file is written by start() itself.
class Checkpointer final : public CheckpointWriter {
  public:
    /// @param synchronize makes the values equal on all ranks; collective
    Checkpointer(
        CheckpointFolder folder, const CheckpointOptions& options, StoredArrays arrays,
        Communicator communicator, std::function<void()> synchronize = [] {});
    /// Waits for the thread; a checkpoint without finish() stays invisible.
    ~Checkpointer() override = default;

    void start(const CheckpointHeader& header) override { start(header, {}); }
    /// @param numbers stored besides the arrays, the same on all ranks
    void start(const CheckpointHeader& header, const Numbers& numbers);
    bool part_is_written() const override;
    bool waits_for_commit() const override { return in_progress_; }
    void commit() override;
    void finish() override;
    const std::optional<std::filesystem::path>& last() const override { return path_; }

  private:
    void plan();
    std::optional<std::size_t> plan_directory();
    std::optional<std::size_t> plan_file();
    void write_together();
    /// Created by the first rank, returned on all ranks.
    storage::FileLayout make_file(const std::filesystem::path& path) const;
    void begin_shard();
    void begin_file(const CheckpointHeader& header);
    void stage();
    void collect_parts();
    template <class Action>
    void or_clean_up(const Action& action) const;

    CheckpointFolder folder_;
    CheckpointOptions options_;
    StoredArrays arrays_;
    Communicator communicator_;
    std::function<void()> synchronize_;
    Numbers numbers_;
    std::vector<storage::TensorInfo> tensors_;
    std::vector<const std::byte*> memory_;  ///< of each tensor, in arrays_ or numbers_
    storage::ShardPlan plan_;
    std::optional<std::size_t> shard_;  ///< index in the plan of what this rank writes
    std::vector<storage::PieceSource> pieces_;
    AlignedBytes<storage::direct_alignment> staging_;
    std::size_t staging_bytes_ = 0;  ///< required by the plan
    std::size_t staging_room_ = 0;

    CheckpointHeader header_;
    std::optional<std::filesystem::path> path_;
    bool in_progress_ = false;
    Background<storage::ShardInfo> part_;
    Background<void> completion_;
};

}  // namespace dtrain::checkpoint
