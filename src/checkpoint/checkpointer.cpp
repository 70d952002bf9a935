// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpointer.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "checkpoint/collective_file.hpp"
#include "checkpoint/error_of.hpp"
#include "checkpoint/state_checkpoint.hpp"
#include "storage/checkpoint_directory.hpp"

namespace dtrain::checkpoint {
namespace {

template <class Function>
auto begun(const CheckpointOptions& options, Function function) {
    using Begun = Background<decltype(function())>;
    return options.async ? Begun::in_thread(std::move(function)) : Begun::at_once(std::move(function));
}

/// @throws Error naming the path if the system refuses
template <class Action>
void or_say_where(const std::filesystem::path& path, const Action& action) {
    try {
        action();
    } catch (const std::system_error& error) {
        throw Error(fmt::format("cannot write {}: {}", path.string(), error.code().message()));
    }
}

}  // namespace

Checkpointer::Checkpointer(CheckpointFolder folder, const CheckpointOptions& options, StoredArrays arrays,
                           Communicator communicator, std::function<void()> synchronize)
    : folder_(std::move(folder)),
      options_(options),
      arrays_(std::move(arrays)),
      communicator_(std::move(communicator)),
      synchronize_(std::move(synchronize)) {
    storage::start_hdf5();
    plan();
}

void Checkpointer::plan() {
    if (options_.format != CheckpointFormat::directory && !options_.collective) return;
    struct Stored {
        storage::TensorInfo info;
        const void* memory;
    };
    std::vector<Stored> stored;
    for (const auto& array : arrays_.to_read()) stored.push_back({array.info, array.data});
    for (const auto& [name, values] : numbers_) stored.push_back({stored_info(name, values), values.data()});
    std::ranges::sort(stored, {}, [](const Stored& each) { return each.info.name; });
    tensors_.clear();
    memory_.clear();
    for (auto& [info, memory] : stored) {
        tensors_.push_back(std::move(info));
        memory_.push_back(static_cast<const std::byte*>(memory));
    }
    shard_ = options_.collective ? plan_file() : plan_directory();
    pieces_.clear();
    staging_bytes_ = 0;
    if (!shard_) return;
    for (const auto& piece : plan_[*shard_]) {
        const auto row_bytes = tensors_[piece.tensor].row_bytes();
        pieces_.push_back({piece, memory_[piece.tensor] + piece.first_row * row_bytes});
        staging_bytes_ +=
            aligned_to<storage::direct_alignment>(static_cast<std::size_t>(piece.rows * row_bytes));
    }
    if (!options_.async) staging_bytes_ = 0;
}

std::optional<std::size_t> Checkpointer::plan_file() {
    plan_ = storage::deal_pieces(tensors_, storage::cut_pieces(tensors_), communicator_.size());
    return static_cast<std::size_t>(communicator_.rank());
}

std::optional<std::size_t> Checkpointer::plan_directory() {
    const int ranks = communicator_.size();
    const int shards =
        options_.shards ? std::min(*options_.shards, ranks) : storage::shard_count(tensors_, ranks);
    plan_ = storage::plan_shards(tensors_, shards);
    // Spread the shards over all ranks, and so over all nodes.
    for (int shard = 0; shard < shards; ++shard)
        if (static_cast<std::int64_t>(shard) * ranks / shards == communicator_.rank())
            return static_cast<std::size_t>(shard);
    return std::nullopt;
}

void Checkpointer::start(const CheckpointHeader& header, const Numbers& numbers) {
    finish();
    if (numbers != numbers_) {
        numbers_ = numbers;
        plan();
    }
    synchronize_();
    static_cast<void>(arrays_.to_read());  // updates the memory behind memory_
    header_ = header;
    path_ = folder_.path(header, options_.format);
    if (options_.collective) return or_clean_up([&] { write_together(); });
    const bool is_directory = options_.format == CheckpointFormat::directory;
    throw_together<Error>(communicator_, error_of([&] {
                              if (is_directory && communicator_.rank() == 0) storage::begin_directory(*path_);
                          }));
    in_progress_ = true;
    if (is_directory && shard_) begin_shard();
    if (!is_directory && communicator_.rank() == 0) begin_file(header);
    if (!options_.async) finish();
}

void Checkpointer::stage() {
    if (staging_bytes_ > std::exchange(staging_room_, std::max(staging_room_, staging_bytes_)))
        staging_ = make_aligned_bytes<storage::direct_alignment>(staging_bytes_);
    auto* to = staging_.get();
    for (auto& [piece, data] : pieces_) {
        const auto row_bytes = tensors_[piece.tensor].row_bytes();
        const auto bytes = static_cast<std::size_t>(piece.rows * row_bytes);
        std::memcpy(to, memory_[piece.tensor] + piece.first_row * row_bytes, bytes);
        data = to;
        to += aligned_to<storage::direct_alignment>(bytes);
    }
}

void Checkpointer::begin_shard() {
    if (options_.async) stage();
    part_ = begun(options_, [this] {
        const auto file = storage::temporary_path(*path_) / storage::shard_name(*shard_);
        return storage::write_shard(file, tensors_, pieces_);
    });
}

void Checkpointer::begin_file(const CheckpointHeader& header) {
    completion_ = begun(options_, [this, checkpoint = copy_of(arrays_, header, numbers_)] {
        folder_.save(checkpoint, options_.keep, options_.format);
    });
}

void Checkpointer::write_together() {
    const auto temporary = storage::temporary_path(*path_);
    const bool first = communicator_.rank() == 0;
    throw_together<Error>(communicator_, error_of([&] {
                              if (!first) return;
                              std::filesystem::create_directories(temporary.parent_path());
                              std::filesystem::remove(temporary);
                              make_new_file(temporary);
                          }));
    CollectiveFile file(communicator_, temporary, options_.hints);
    const auto layout = make_file(temporary);
    std::vector<storage::WriteExtent> extents;
    storage::ShardInfo info;
    for (const auto& [piece, data] : pieces_) {
        const auto& extent = extents.emplace_back(layout.extent_of(piece, tensors_, data));
        info.pieces.push_back({piece, extent.offset, storage::extent_sum({extent.data, extent.bytes})});
    }
    std::ranges::sort(extents, {}, &storage::WriteExtent::offset);  // HDF5 may place small tensors in gaps
    file.write(extents);
    file.close();
    const auto all_info = communicator_.all_gather(storage::to_json(info));
    throw_together<Error>(
        communicator_, error_of([&] {
            if (!first) return;
            storage::ShardInfo whole;
            for (const auto& each : all_info)
                std::ranges::copy(storage::shard_info_from_json(each).pieces,
                                  std::back_inserter(whole.pieces));
            or_say_where(temporary, [&] {
                storage::finish_checkpoint_file(temporary, layout, {header_, tensors_, {whole}});
            });
            publish_file(temporary, *path_);
            folder_.publish(*path_, options_.keep);
        }));
}

storage::FileLayout Checkpointer::make_file(const std::filesystem::path& path) const {
    storage::FileLayout layout;
    throw_together<Error>(communicator_, error_of([&] {
                              if (communicator_.rank() != 0) return;
                              or_say_where(path, [&] {
                                  layout = storage::begin_checkpoint_file(path, header_, tensors_,
                                                                          storage::cut_pieces(tensors_));
                              });
                          }));
    layout.offsets.resize(tensors_.size());
    communicator_.broadcast(std::span(layout.offsets));
    communicator_.broadcast(std::span(&layout.bytes, 1));
    throw_together<Error>(
        communicator_, error_of([&] {
            std::ifstream seen(path, std::ios::binary | std::ios::ate);
            if (seen.tellg() != std::streampos(layout.bytes))
                throw Error(
                    fmt::format("{}: what rank 0 wrote is not to be seen by rank {}; 'collective' needs a "
                                "file system that all nodes share",
                                path.string(), communicator_.rank()));
        }));
    return layout;
}

bool Checkpointer::part_is_written() const {
    return !part_.valid() || part_.is_ready();
}

template <class Action>
void Checkpointer::or_clean_up(const Action& action) const {
    storage::or_clean_up(*path_, action, communicator_.rank() == 0);
}

void Checkpointer::commit() {
    if (!std::exchange(in_progress_, false) || options_.format != CheckpointFormat::directory) return;
    or_clean_up([this] { collect_parts(); });
}

void Checkpointer::collect_parts() {
    std::string info;
    const auto error = error_of([&] {
        if (part_.valid()) info = storage::to_json(part_.get());
    });
    throw_together<Error>(communicator_, error);
    const auto all_info = communicator_.all_gather(info);
    if (communicator_.rank() != 0) return;
    storage::CheckpointIndex index{header_, tensors_, {}};
    for (const auto& each : all_info)
        if (!each.empty()) index.shards.push_back(storage::shard_info_from_json(each));
    completion_ = begun(options_, [this, index = std::move(index)] {
        storage::commit_directory(*path_, index);
        folder_.publish(*path_, options_.keep);
    });
}

void Checkpointer::finish() {
    if (!path_) return;
    commit();
    or_clean_up([this] {
        throw_together<Error>(communicator_, error_of([&] {
                                  if (completion_.valid()) completion_.get();
                              }));
    });
}

}  // namespace dtrain::checkpoint
