// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Where a Learner stands, for checkpoints.
#include <string>
#include <string_view>
#include <utility>

#include <dtrain/checkpoint.hpp>

#include "base/log.hpp"
#include "checkpoint/restore_together.hpp"
#include "model/learner.hpp"
#include "model/resume_servers.hpp"
#include "model/server_checkpointer.hpp"

namespace dtrain::model {
namespace {

constexpr std::string_view rate_name = "learning_rate";
constexpr std::string_view kept_prefix = "callback.";

}  // namespace

StateCheckpoint Learner::position() const {
    StateCheckpoint position;
    static_cast<CheckpointHeader&>(position) = {
        .epoch = epochs(), .step = steps(), .seed = options_.seed, .job = prepared_->job};
    if (prepared_->rate) position.numbers[std::string(rate_name)] = {*prepared_->rate};
    for (const auto& [name, numbers] : prepared_->kept)
        position.numbers[std::string(kept_prefix) + name] = numbers;
    return position;
}

Checkpoint Learner::checkpoint() const {
    const auto current = position();
    return checkpoint::copy_of(prepared_->state, current, current.numbers);
}

void Learner::save_on_servers(const std::filesystem::path& path) {
    servers_->connect(prepared_->state);
    servers_->save(path, prepared_->state, position());
}

/// After the servers have loaded their parts.
void Learner::load_on_servers(const std::filesystem::path& folder) {
    const auto& connection = servers_->connect(prepared_->state);
    go_on_from(checkpoint::restore_or_keep(options_.communicator, {folder / trainer_file}, prepared_->job,
                                           prepared_->state, {}, "program"));
    if (connection.mode() == ServerMode::geo)
        resume_trainer_rows(connection, options_.communicator, folder,
                            [](const std::string& why) { log_warning("{}", why); });
}

void Learner::load(const std::filesystem::path& file) {
    if (servers_) {
        servers_->load({file}, {});
        load_on_servers(file);
        return;
    }
    go_on_from(checkpoint::restore_or_keep(options_.communicator, {file}, prepared_->job, prepared_->state,
                                           {}, "program"));
}

std::optional<std::filesystem::path> Learner::load_newest(
    const std::filesystem::path& folder, const std::function<void(const std::string&)>& warn) {
    if (servers_) {
        const auto candidates =
            checkpoint::candidates_together(options_.communicator, CheckpointFolder(folder));
        const auto restored = servers_->load(candidates, [&](const std::string& damaged) {
            if (warn) warn(damaged);
        });
        if (!restored) return std::nullopt;
        load_on_servers(restored->file);
        return restored->file;
    }
    auto found = checkpoint::restore_newest(options_.communicator, CheckpointFolder(folder), prepared_->job,
                                            prepared_->state, warn, "program");
    if (!found) return std::nullopt;
    auto file = found->file;
    go_on_from(std::move(*found));
    return file;
}

void Learner::go_on_from(checkpoint::Restored found) {
    loop_->go_on_from({.epoch = found.header.epoch, .step = found.header.step, .epoch_step = 0});
    options_.seed = found.header.seed;
    prepared_->rate.reset();
    prepared_->kept.clear();
    for (auto& [name, values] : found.numbers)
        if (name == rate_name)
            prepared_->rate = values.front();
        else if (name.starts_with(kept_prefix))
            prepared_->kept[name.substr(kept_prefix.size())] = std::move(values);
}

}  // namespace dtrain::model
