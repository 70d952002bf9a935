// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "model/resume_servers.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "model/server_checkpointer.hpp"
#include "storage/checkpoint_index.hpp"
#include "storage/stored_checkpoint.hpp"

namespace dtrain::model {
namespace {

using checkpoint::check_job;
using checkpoint::refusal_of;
using checkpoint::Restored;

/// @throws UsageError if it is a checkpoint written without parameter servers, or cannot be read at all
void check_is_of_servers(const std::filesystem::path& checkpoint, int servers) {
    for (const char* file : {trainer_file, storage::servers_name})
        if (std::filesystem::exists(checkpoint / file)) return;
    const storage::StoredCheckpoint other(checkpoint);
    throw UsageError(fmt::format(
        "{}: a job without parameter servers has written it, and this job has {}, which cannot go on from "
        "it; start the job without servers, or begin without this checkpoint",
        other.path().string(), servers));
}

}  // namespace

std::optional<Restored> resume_servers(const ServerRanks& ranks, const Communicator& world,
                                       const std::vector<std::filesystem::path>& candidates,
                                       ParameterServer* server, const std::map<std::string, std::string>& job,
                                       const std::function<void(const std::string&)>& warn,
                                       const std::string& reader) {
    const int first_trainer = ranks.servers();
    const bool speaks = world.rank() == first_trainer;
    const auto count = static_cast<std::size_t>(world.max(static_cast<std::int64_t>(candidates.size())));
    for (std::size_t i = 0; i < count; ++i) {
        const std::filesystem::path folder = world.broadcast(
            speaks ? std::filesystem::absolute(candidates[i]).string() : std::string(), first_trainer);
        CheckpointHeader header;
        const auto unreadable = refusal_of([&] {
            check_is_of_servers(folder, ranks.servers());
            if (server != nullptr) server->load(folder);
            if (speaks) header = static_cast<const CheckpointHeader&>(load_checkpoint(folder / trainer_file));
        });
        throw_together(world, speaks && !unreadable
                                  ? refusal_of([&] { check_job(header.job, job, folder.string(), reader); })
                                  : std::nullopt);
        if (world.all(!unreadable)) {
            const auto too_many = refusal_of([&] {
                if (server != nullptr) server->check_rows();
            });
            throw_together(world, too_many ? std::optional(fmt::format("{}: {}", folder.string(), *too_many))
                                           : std::nullopt);
            return Restored{speaks ? candidates[i] : folder, header};
        }
        if (i + 1 == count) throw_together(world, unreadable);
        const auto reasons = world.all_gather(unreadable.value_or(""));
        const auto why = std::ranges::find_if(reasons, [](const auto& reason) { return !reason.empty(); });
        if (speaks) warn(fmt::format("{}; trying {}", *why, candidates[i + 1].string()));
    }
    return std::nullopt;
}

void resume_trainer_rows(const ServerConnection& servers, const Communicator& trainers,
                         const std::filesystem::path& folder,
                         const std::function<void(const std::string&)>& warn) {
    if (servers.trainer_rows().optimizer.empty()) return;  // the optimizers of rows have no state
    const auto file = folder / rows_file(trainers.rank(), trainers.size());
    if (!trainers.all(std::filesystem::exists(file))) {
        if (trainers.rank() == 0)
            warn(fmt::format("{}: it has no optimizer state of rows by {}: that begins anew", folder.string(),
                             counted(trainers.size(), "trainer")));
        return;
    }
    const auto refused = refusal_of([&] { servers.restore_trainer_rows(load_checkpoint(file)); });
    throw_together(trainers,
                   refused ? std::optional(fmt::format("{}: {}", file.string(), *refused)) : std::nullopt);
}

}  // namespace dtrain::model
