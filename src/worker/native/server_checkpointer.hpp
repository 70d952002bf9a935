// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/parameter_servers.hpp>

#include "base/background.hpp"
#include "checkpoint/checkpoint_writer.hpp"
#include "io/stored_checkpoint.hpp"
#include "worker/native/job_file.hpp"

namespace dtrain::native {

/// The file, in a folder that servers have saved into, that says where training stood, and has the dense
/// parameters as the trainers see them.
inline constexpr const char* trainer_file = "trainer.h5";

/// Whether servers have saved into this folder.
bool is_of_servers(const std::filesystem::path& checkpoint);

/// What a checkpoint, of servers or not, has of trainers. @throws UsageError as io::StoredCheckpoint
io::StoredCheckpoint trainers_part(const std::filesystem::path& checkpoint);

/// The file there that has what one of so many trainers of geo mode alone has of rows.
std::string rows_file(int trainer, int trainers);

/// Lets the servers write a job's checkpoints, in the background when the settings say so: training goes on
/// as soon as it is fixed what they write.
class ServerCheckpointer final : public checkpoint::CheckpointWriter {
  public:
    /// @param synchronize lets all trainers' gradients be in the parameters; collective
    ServerCheckpointer(const CheckpointSettings& settings, const ServerConnection& servers, State state,
                       Communicator trainers, std::function<void()> synchronize);

    void start(const CheckpointHeader& header) override;
    bool part_is_written() const override;
    bool waits_for_commit() const override { return in_progress_; }
    void commit() override;
    void finish() override;
    const std::optional<std::filesystem::path>& last() const override { return path_; }

  private:
    void begin(const CheckpointHeader& header);
    void begin_rows(const CheckpointHeader& header);
    void complete();
    /// What the first trainer does; what it throws, all do.
    template <class Action>
    void by_the_first(const Action& action) const;
    /// What was written of a checkpoint that fails goes.
    template <class Action>
    void or_abandon(const Action& action) const;

    CheckpointSettings settings_;
    const ServerConnection& servers_;
    State state_;
    Communicator trainers_;
    std::function<void()> synchronize_;
    std::optional<std::filesystem::path> path_;
    /// Of the first trainer: the last save of all rows that was completed, and those of changes since then.
    std::vector<std::string> chain_;
    std::vector<std::string> since_;  ///< what the save in progress needs
    bool in_progress_ = false;
    Background<void> rows_part_;     ///< of this trainer; geo mode only
    Background<void> trainer_part_;  ///< of the first trainer
    Background<void> completion_;    ///< likewise
};

}  // namespace dtrain::native
