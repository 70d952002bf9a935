// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/checkpoint.hpp>
#include <dtrain/communicator.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/parameter_servers.hpp>
#include <dtrain/state_checkpoints.hpp>

#include "base/background.hpp"
#include "checkpoint/checkpoint_writer.hpp"
#include "storage/stored_checkpoint.hpp"

namespace dtrain::model {

/// The file in a checkpoint of servers that holds the training step and the dense parameters as the trainers
/// see them.
inline constexpr const char* trainer_file = "trainer.h5";

/// Whether this folder is a checkpoint of servers.
bool is_of_servers(const std::filesystem::path& checkpoint);

/// The trainers' part of a checkpoint, with or without servers. @throws UsageError as
/// storage::StoredCheckpoint
storage::StoredCheckpoint trainers_part(const std::filesystem::path& checkpoint);

/// The file in it with the row state that only this one of `trainers` trainers has (geo mode).
std::string rows_file(int trainer, int trainers);

/// Where and how servers write checkpoints.
struct ServerCheckpointSettings {
    std::filesystem::path dir;  ///< see CheckpointFolder
    std::string run = {};       ///< see CheckpointFolder
    CheckpointOptions files = {};
    /// Every full_every-th checkpoint has all rows, the others only the rows that changed.
    std::int64_t full_every = 1;
};

/// Makes the servers write a job's checkpoints, in the background if the settings say so: training continues
/// as soon as the servers have fixed what to write.
class ServerCheckpointer final : public checkpoint::CheckpointWriter {
  public:
    /// @param synchronize waits until the gradients of all trainers are in the parameters; collective
    ServerCheckpointer(ServerCheckpointSettings settings, const ServerConnection& servers, State state,
                       Communicator trainers, std::function<void()> synchronize);

    void start(const CheckpointHeader& header) override;
    /// The same with a path of one's own, which `latest` does not name and nothing replaces.
    void start_as(const std::filesystem::path& path, const StateCheckpoint& position);
    bool part_is_written() const override;
    bool waits_for_commit() const override { return in_progress_; }
    void commit() override;
    void finish() override;
    const std::optional<std::filesystem::path>& last() const override { return path_; }

  private:
    void start_at(const std::filesystem::path& path, const StateCheckpoint& position);
    void begin(const StateCheckpoint& position);
    void begin_rows(const CheckpointHeader& header);
    void complete();
    /// Runs `action` on the first trainer; if it throws, all trainers throw.
    template <class Action>
    void by_the_first(const Action& action) const;
    /// If `action` throws, deletes what was written of the checkpoint.
    template <class Action>
    void or_clean_up(const Action& action) const;

    ServerCheckpointSettings settings_;
    const ServerConnection& servers_;
    State state_;
    Communicator trainers_;
    std::function<void()> synchronize_;
    std::optional<std::filesystem::path> path_;
    /// On the first trainer: the last completed save of all rows, and the completed saves of changes since
    /// then.
    std::vector<std::string> chain_;
    std::vector<std::string> since_;  ///< the saves that the save in progress depends on
    bool is_published_ = true;        ///< in the folder of the settings
    bool in_progress_ = false;
    Background<void> rows_part_;     ///< on this trainer; geo mode only
    Background<void> trainer_part_;  ///< on the first trainer
    Background<void> completion_;    ///< on the first trainer
};

}  // namespace dtrain::model
