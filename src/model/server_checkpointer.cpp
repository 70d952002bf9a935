// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "model/server_checkpointer.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/state_checkpoints.hpp>

#include "checkpoint/error_of.hpp"
#include "checkpoint/state_checkpoint.hpp"
#include "ps/job/server_manifest.hpp"
#include "storage/checkpoint_directory.hpp"
#include "storage/hdf5_file.hpp"

namespace dtrain::model {

bool is_of_servers(const std::filesystem::path& checkpoint) {
    return std::filesystem::exists(checkpoint / trainer_file);
}

storage::StoredCheckpoint trainers_part(const std::filesystem::path& checkpoint) {
    return storage::StoredCheckpoint(is_of_servers(checkpoint) ? checkpoint / trainer_file : checkpoint);
}

std::string rows_file(int trainer, int trainers) {
    return fmt::format("trainer-{:04}-of-{:04}.h5", trainer, trainers);
}

ServerCheckpointer::ServerCheckpointer(ServerCheckpointSettings settings, const ServerConnection& servers,
                                       State state, Communicator trainers, std::function<void()> synchronize)
    : settings_(std::move(settings)),
      servers_(servers),
      state_(std::move(state)),
      trainers_(std::move(trainers)),
      synchronize_(std::move(synchronize)) {
    storage::start_hdf5();
}

template <class Action>
void ServerCheckpointer::by_the_first(const Action& action) const {
    throw_together<Error>(trainers_, checkpoint::error_of([&] {
                              if (trainers_.rank() == 0) action();
                          }));
}

template <class Action>
void ServerCheckpointer::or_clean_up(const Action& action) const {
    storage::or_clean_up(*path_, action, trainers_.rank() == 0);
}

void ServerCheckpointer::start(const CheckpointHeader& header) {
    is_published_ = true;
    start_at(CheckpointFolder(settings_.dir).path(header, CheckpointFormat::directory), {header});
}

void ServerCheckpointer::start_as(const std::filesystem::path& path, const StateCheckpoint& position) {
    is_published_ = false;
    start_at(path, position);
}

void ServerCheckpointer::start_at(const std::filesystem::path& path, const StateCheckpoint& position) {
    finish();
    synchronize_();
    path_ = path;
    by_the_first([&] { begin(position); });
    begin_rows(position);
    in_progress_ = true;
    if (!settings_.files.async) finish();
}

void ServerCheckpointer::begin(const StateCheckpoint& position) {
    storage::begin_directory(*path_);
    const auto folder = storage::temporary_path(*path_);
    auto checkpoint = checkpoint::copy_of(state_, position, position.numbers);
    const bool saves_changes = settings_.full_every > 1;
    since_ = saves_changes && static_cast<std::int64_t>(chain_.size()) < settings_.full_every
                 ? chain_
                 : std::vector<std::string>();
    servers_.begin_save(std::filesystem::absolute(folder), {since_, saves_changes});
    trainer_part_ =
        Background<void>::in_thread([file = folder / trainer_file, checkpoint = std::move(checkpoint)] {
            save_checkpoint(file, checkpoint);
        });
}

void ServerCheckpointer::begin_rows(const CheckpointHeader& header) {
    auto rows = servers_.trainer_rows();
    if (rows.optimizer.empty()) return;
    static_cast<CheckpointHeader&>(rows) = header;
    const auto file = storage::temporary_path(*path_) / rows_file(trainers_.rank(), trainers_.size());
    rows_part_ = Background<void>::in_thread([file, rows = std::move(rows)] { save_checkpoint(file, rows); });
}

bool ServerCheckpointer::part_is_written() const {
    if (!in_progress_) return true;
    if (rows_part_.valid() && !rows_part_.is_ready()) return false;
    return trainers_.rank() != 0 || (servers_.is_saved() && trainer_part_.is_ready());
}

void ServerCheckpointer::commit() {
    if (!std::exchange(in_progress_, false)) return;
    const auto error = checkpoint::error_of([&] {
        if (rows_part_.valid()) rows_part_.get();
    });
    or_clean_up([&] {
        throw_together<Error>(trainers_, error);
        by_the_first([&] { complete(); });
    });
}

void ServerCheckpointer::complete() {
    auto write_manifest = servers_.finish_save();
    trainer_part_.get();
    completion_ = Background<void>::in_thread([write_manifest = std::move(write_manifest), path = *path_,
                                               is_published = is_published_, keep = settings_.files.keep,
                                               folder = CheckpointFolder(settings_.dir, settings_.run)] {
        write_manifest();
        storage::complete_directory(path);
        if (is_published) folder.publish(path, keep, ps::needs_of);
    });
}

void ServerCheckpointer::finish() {
    if (!path_) return;
    commit();
    or_clean_up([&] {
        by_the_first([&] {
            if (!completion_.valid()) return;
            completion_.get();
            chain_ = since_;
            chain_.push_back(path_->filename().string());
        });
    });
}

}  // namespace dtrain::model
