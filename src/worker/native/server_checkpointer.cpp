// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/server_checkpointer.hpp"

#include <string>
#include <utility>

#include <dtrain/error.hpp>

#include "io/checkpoint_directory.hpp"
#include "worker/native/state_checkpoint.hpp"

namespace dtrain::native {

ServerCheckpointer::ServerCheckpointer(const CheckpointSettings& settings, const ServerConnection& servers,
                                       State state, Communicator trainers, std::function<void()> meet)
    : settings_(settings),
      servers_(servers),
      state_(std::move(state)),
      trainers_(std::move(trainers)),
      meet_(std::move(meet)) {}

void ServerCheckpointer::start(const CheckpointHeader& header) {
    meet_();
    path_ = CheckpointFolder(*settings_.dir).path(header, CheckpointFormat::directory);
    std::optional<std::string> error;
    if (trainers_.rank() == 0) {
        try {
            write(header);
        } catch (const std::exception& failed) {
            error = failed.what();
        }
    }
    throw_together<Error>(trainers_, error);
}

void ServerCheckpointer::write(const CheckpointHeader& header) const {
    io::begin_directory(*path_);
    const auto folder = io::temporary_path(*path_);
    Checkpoint checkpoint;
    static_cast<CheckpointHeader&>(checkpoint) = header;
    store(state_, checkpoint);
    save_checkpoint(folder / trainer_file, checkpoint);
    servers_.save(std::filesystem::absolute(folder));
    io::complete_directory(*path_);
    CheckpointFolder(*settings_.dir).publish(*path_, settings_.keep);
}

}  // namespace dtrain::native
