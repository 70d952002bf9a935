// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>
#include <mpi.h>

#include <dtrain/error.hpp>
#include <dtrain/state_checkpoints.hpp>

#include "checkpoint/checkpointer.hpp"
#include "checkpoint/restore_together.hpp"
#include "checkpoint/step_agreement.hpp"

namespace dtrain {
namespace {

std::optional<std::string> contradiction(const CheckpointOptions& options) {
    const bool is_file = options.format == CheckpointFormat::file;
    if (options.keep < 1) return fmt::format("checkpoints: keep is {}; it must be 1 or more", options.keep);
    if (options.shards && *options.shards < 1)
        return fmt::format("checkpoints: shards is {}; it must be 1 or more", *options.shards);
    if (options.shards && is_file) return "checkpoints: shards are of a directory, but the format is a file";
    if (options.collective && !is_file)
        return "checkpoints: collective is for one file, but the format is a directory";
    if (!options.collective && !options.hints.empty()) return "checkpoints: hints are for a collective file";
    return std::nullopt;
}

/// Size of MPI_COMM_WORLD; nothing without MPI.
std::optional<int> world_size() {
    int is_initialized = 0;
    MPI_Initialized(&is_initialized);
    if (is_initialized == 0) return std::nullopt;
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

CheckpointOptions checked(CheckpointOptions options, const Communicator& communicator) {
    auto refused = contradiction(options);
    if (!refused && options.collective) {
        const auto world = world_size();
        options.collective = world.has_value();
        if (world && *world != communicator.size())
            refused = fmt::format(
                "checkpoints: a collective file is written by all {} ranks of MPI_COMM_WORLD, but the "
                "communicator has {}",
                *world, communicator.size());
    }
    throw_together(communicator, refused);
    return options;
}

}  // namespace

struct StateCheckpoints::Content {
    CheckpointFolder folder;
    checkpoint::StoredArrays arrays;
    Communicator communicator;
    checkpoint::Checkpointer writer;
    checkpoint::StepAgreement agreement;

    Content(const std::filesystem::path& of, const checkpoint::StoredArrays& with, const Communicator& among,
            const CheckpointOptions& options)
        : folder(of),
          arrays(with),
          communicator(among),
          writer(folder, checked(options, among), arrays, communicator),
          agreement(communicator) {}
};

StateCheckpoints::StateCheckpoints(const std::filesystem::path& folder, const State& state,
                                   const Communicator& communicator, const CheckpointOptions& options)
    : content_(std::make_unique<Content>(folder, state, communicator, options)) {}

StateCheckpoints::StateCheckpoints(const std::filesystem::path& folder,
                                   const std::vector<CheckpointBuffer>& buffers,
                                   const Communicator& communicator, const CheckpointOptions& options)
    : content_(std::make_unique<Content>(
          folder, checkpoint::StoredArrays(checkpoint::checked_buffers(communicator, buffers)), communicator,
          options)) {}

StateCheckpoints::StateCheckpoints(StateCheckpoints&&) noexcept = default;
StateCheckpoints& StateCheckpoints::operator=(StateCheckpoints&&) noexcept = default;
StateCheckpoints::~StateCheckpoints() = default;

void StateCheckpoints::save(const CheckpointHeader& header,
                            const std::map<std::string, std::vector<double>>& numbers) {
    content_->writer.start(header, numbers);
}

void StateCheckpoints::progress() {
    if (content_->writer.waits_for_commit()) content_->agreement.after_step(content_->writer);
}

void StateCheckpoints::finish() {
    content_->writer.finish();
}

std::optional<std::filesystem::path> StateCheckpoints::last() const {
    return content_->writer.last();
}

std::optional<StateCheckpoint> StateCheckpoints::load_newest(
    const std::map<std::string, std::string>& job, const std::function<void(const std::string&)>& warn) {
    const auto& [folder, arrays, communicator, writer, agreement] = *content_;
    auto restored = checkpoint::restore_newest(communicator, folder, job, arrays, warn, "program");
    if (!restored) return std::nullopt;
    StateCheckpoint loaded;
    static_cast<CheckpointHeader&>(loaded) = std::move(restored->header);
    loaded.numbers = std::move(restored->numbers);
    return loaded;
}

}  // namespace dtrain
