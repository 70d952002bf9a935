// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <system_error>

#include <fmt/format.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/text.hpp"
#include "base/unfinished_file.hpp"
#include "base/with_element.hpp"
#include "storage/checkpoint_directory.hpp"
#include "storage/hash.hpp"
#include "storage/hdf5_file.hpp"
#include "storage/stored_checkpoint.hpp"

namespace dtrain {
namespace {

constexpr const char* format_name = "dtrain checkpoint 1";
constexpr const char* format_within_an_epoch = "dtrain checkpoint 1, within an epoch";

using Tensors = std::map<std::string, CheckpointTensor>;

void add(storage::Hash& hash, std::string_view kind, const Tensors& tensors) {
    hash.add(kind);
    hash.add(std::uint64_t{tensors.size()});
    for (const auto& [name, tensor] : tensors) {
        hash.add(std::string_view(name));
        hash.add(std::span<const std::int64_t>(tensor.shape));
        hash.add(std::uint64_t{tensor.values.index()});
        std::visit([&](const auto& values) { hash.add(std::span(values)); }, tensor.values);
    }
}

/// Covers everything in a canonical order, so it stays valid if other tools copy or repack the file.
std::string checksum(const Checkpoint& checkpoint) {
    storage::Hash hash;
    hash.add(static_cast<std::uint64_t>(checkpoint.epoch));
    hash.add(static_cast<std::uint64_t>(checkpoint.step));
    hash.add(checkpoint.seed);
    hash.add(std::uint64_t{checkpoint.job.size()});
    for (const auto& [field, value] : checkpoint.job) {
        hash.add(std::string_view(field));
        hash.add(std::string_view(value));
    }
    add(hash, "parameters", checkpoint.parameters);
    add(hash, "optimizer", checkpoint.optimizer);
    if (checkpoint.epoch_step != 0) {
        hash.add(static_cast<std::uint64_t>(checkpoint.epoch_step));
        for (const auto& [name, sums] : checkpoint.sums) {
            hash.add(std::string_view(name));
            hash.add(std::span(sums));
        }
    }
    return fmt::format("{:016x}", hash.value());
}

CheckpointTensor::Values read_values(const storage::Hdf5File& file, const std::string& path,
                                     const storage::Hdf5DatasetInfo& info) {
    // A file with another element type fails later by its checksum.
    return with_element(info.element.value_or(DataType::float32),
                        [&]<class Value>() -> CheckpointTensor::Values { return file.read<Value>(path); });
}

Tensors read(const storage::Hdf5File& file, const std::string& group) {
    Tensors tensors;
    for (const auto& name : file.datasets_below(group)) {
        const auto path = fmt::format("{}/{}", group, name);
        const auto info = file.info(path);
        tensors.emplace(name, CheckpointTensor{info.shape, read_values(file, path, info)});
    }
    return tensors;
}

std::vector<double> numbers_in(const std::string& text) {
    std::vector<double> numbers;
    for (const auto& word : split(text, ' '))
        numbers.push_back(std::bit_cast<double>(parse_int<std::uint64_t>(word, 16).value_or(0)));
    return numbers;
}

/// A checkpoint's tensors in the order in which they are stored, and where their values are.
struct Described {
    explicit Described(const Checkpoint& checkpoint) {
        add("/optimizer/", checkpoint.optimizer);
        add("/parameters/", checkpoint.parameters);
    }

    const std::byte* of(const storage::Piece& piece) const {
        return memory[piece.tensor] + piece.first_row * tensors[piece.tensor].row_bytes();
    }

    std::vector<storage::TensorInfo> tensors;
    std::vector<const std::byte*> memory;

  private:
    void add(const std::string& group, const Tensors& of_group) {
        for (const auto& [name, tensor] : of_group) {
            tensors.push_back(storage::info_of(group, name, tensor));
            memory.push_back(storage::bytes_of(tensor).data());
        }
    }
};

}  // namespace

void save_checkpoint_directory(const std::filesystem::path& path, const Checkpoint& checkpoint, int shards) {
    const Described all(checkpoint);
    storage::CheckpointIndex index{static_cast<const CheckpointHeader&>(checkpoint), all.tensors, {}};
    const auto plan = storage::plan_shards(index.tensors, shards);
    storage::begin_directory(path);
    storage::or_clean_up(path, [&] {
        for (std::size_t shard = 0; shard < plan.size(); ++shard) {
            std::vector<storage::PieceSource> pieces;
            for (const auto& piece : plan[shard]) pieces.push_back({piece, all.of(piece)});
            index.shards.push_back(storage::write_shard(
                storage::temporary_path(path) / storage::shard_name(shard), index.tensors, pieces));
        }
        storage::commit_directory(path, index);
    });
}

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
    const Described all(checkpoint);
    const auto pieces = storage::cut_pieces(all.tensors);
    const UnfinishedFile made(temporary_name(path));
    try {
        if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
        make_new_file(made.path());
        const auto layout = storage::begin_checkpoint_file(made.path(), checkpoint, all.tensors, pieces);
        std::vector<storage::WriteExtent> extents;
        for (const auto& piece : pieces)
            extents.push_back(layout.extent_of(piece, all.tensors, all.of(piece)));
        const auto sums = storage::write_extents(made.path(), extents);
        storage::ShardInfo info;
        for (std::size_t i = 0; i < pieces.size(); ++i)
            info.pieces.push_back({pieces[i], extents[i].offset, sums[i]});
        storage::finish_checkpoint_file(made.path(), layout, {checkpoint, all.tensors, {info}});
        publish_file(made.path(), path);
    } catch (const std::system_error& error) {
        throw Error("cannot write the checkpoint " + path.string() + ": " + error.code().message());
    }
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
    if (!std::filesystem::is_directory(path) && !storage::read_index_of_file(path))
        return storage::load_file(path);
    return loaded(storage::StoredCheckpoint(path));
}

Checkpoint storage::load_file(const std::filesystem::path& path) {
    const auto file = storage::Hdf5File::open(path);
    if (!file.has_attribute("/", "format"))
        throw UsageError(path.string() + ": this HDF5 file is no checkpoint of dtrain");
    const auto format = file.read_text("/", "format");
    if (format != format_name && format != format_within_an_epoch)
        throw UsageError(path.string() + ": format '" + format + "' is none that this dtrain reads ('" +
                         format_name + "')");
    Checkpoint checkpoint;
    checkpoint.epoch = file.read_integer("/", "epoch");
    checkpoint.step = file.read_integer("/", "step");
    const auto seed = file.read_text("/", "seed");
    checkpoint.seed = parse_int<std::uint64_t>(seed).value_or(0);
    for (const auto& field : file.attributes("/job")) checkpoint.job[field] = file.read_text("/job", field);
    if (format == format_within_an_epoch) {
        checkpoint.epoch_step = file.read_integer("/", "epoch_step");
        for (const auto& name : file.attributes("/sums"))
            checkpoint.sums[name] = numbers_in(file.read_text("/sums", name));
    }
    checkpoint.parameters = read(file, "/parameters");
    checkpoint.optimizer = read(file, "/optimizer");
    if (checksum(checkpoint) != file.read_text("/", "checksum"))
        throw UsageError(path.string() +
                         ": the checkpoint is damaged (its checksum differs); resume from another one");
    return checkpoint;
}

}  // namespace dtrain
