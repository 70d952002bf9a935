// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/text.hpp"
#include "io/hash.hpp"
#include "io/hdf5_file.hpp"

namespace dtrain {
namespace {

constexpr const char* format_name = "dtrain checkpoint 1";
constexpr std::string_view file_prefix = "epoch-";
constexpr std::string_view file_suffix = ".h5";

using Tensors = std::map<std::string, CheckpointTensor>;

void add(io::Hash& hash, std::string_view kind, const Tensors& tensors) {
    hash.add(kind);
    hash.add(std::uint64_t{tensors.size()});
    for (const auto& [name, tensor] : tensors) {
        hash.add(std::string_view(name));
        hash.add(std::span<const std::int64_t>(tensor.shape));
        hash.add(std::uint64_t{tensor.values.index()});
        std::visit([&](const auto& values) { hash.add(std::span(values)); }, tensor.values);
    }
}

/// Over everything in a canonical order, so that it stays right when other tools copy or repack the file.
std::string checksum(const Checkpoint& checkpoint) {
    io::Hash hash;
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
    return fmt::format("{:016x}", hash.value());
}

void write(io::Hdf5File& file, const std::string& group, const Tensors& tensors) {
    file.make_group(group);
    for (const auto& entry : tensors) {
        const auto dataset = fmt::format("{}/{}", group, entry.first);
        const auto& shape = entry.second.shape;
        std::visit([&](const auto& values) { file.write(dataset, shape, std::span(values)); },
                   entry.second.values);
    }
}

Tensors read(const io::Hdf5File& file, const std::string& group) {
    Tensors tensors;
    for (const auto& name : file.datasets_below(group)) {
        const auto path = fmt::format("{}/{}", group, name);
        const auto info = file.info(path);
        CheckpointTensor tensor{info.shape, {}};
        if (info.type == io::Hdf5Type::integer)
            tensor.values = file.read_integers(path);
        else
            tensor.values = file.read_floats(path);
        tensors.emplace(name, std::move(tensor));
    }
    return tensors;
}

/// The epoch in "epoch-000012.h5", or nothing.
std::optional<std::int64_t> epoch_of(const std::filesystem::path& file) {
    const auto name = file.filename().string();
    const auto around = file_prefix.size() + file_suffix.size();
    if (name.size() <= around || !name.starts_with(file_prefix) || !name.ends_with(file_suffix))
        return std::nullopt;
    return parse_int<std::int64_t>(name.substr(file_prefix.size(), name.size() - around));
}

/// The checkpoints of a folder by epoch; none when there is no such folder.
std::map<std::int64_t, std::filesystem::path> checkpoints_in(const std::filesystem::path& folder) {
    std::map<std::int64_t, std::filesystem::path> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none))
        if (const auto epoch = epoch_of(entry.path())) found[*epoch] = entry.path();
    return found;
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
    auto temporary = path;
    temporary += ".tmp." + std::to_string(::getpid());
    try {
        if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
        auto file = io::Hdf5File::create(temporary);
        file.write_text("/", "format", format_name);
        file.write_integer("/", "epoch", checkpoint.epoch);
        file.write_integer("/", "step", checkpoint.step);
        file.write_text("/", "seed", std::to_string(checkpoint.seed));
        file.write_text("/", "checksum", checksum(checkpoint));
        file.make_group("/job");
        for (const auto& [field, value] : checkpoint.job) file.write_text("/job", field, value);
        write(file, "/parameters", checkpoint.parameters);
        write(file, "/optimizer", checkpoint.optimizer);
        file.close();
        publish_file(temporary, path);
    } catch (const std::system_error& error) {
        std::error_code ignored;
        std::filesystem::remove(temporary, ignored);
        throw Error("cannot write the checkpoint " + path.string() + ": " + error.code().message());
    } catch (...) {
        std::error_code ignored;
        std::filesystem::remove(temporary, ignored);
        throw;
    }
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
    const auto file = io::Hdf5File::open(path);
    if (!file.has_attribute("/", "format"))
        throw UsageError(path.string() + ": this HDF5 file is no checkpoint of dtrain");
    if (const auto format = file.read_text("/", "format"); format != format_name)
        throw UsageError(path.string() + ": format '" + format + "' is none that this dtrain reads ('" +
                         format_name + "')");
    Checkpoint checkpoint;
    checkpoint.epoch = file.read_integer("/", "epoch");
    checkpoint.step = file.read_integer("/", "step");
    const auto seed = file.read_text("/", "seed");
    checkpoint.seed = parse_int<std::uint64_t>(seed).value_or(0);
    for (const auto& field : file.attributes("/job")) checkpoint.job[field] = file.read_text("/job", field);
    checkpoint.parameters = read(file, "/parameters");
    checkpoint.optimizer = read(file, "/optimizer");
    if (checksum(checkpoint) != file.read_text("/", "checksum"))
        throw UsageError(path.string() +
                         ": the checkpoint is damaged (its checksum differs); resume from another one");
    return checkpoint;
}

std::filesystem::path CheckpointFolder::file(std::int64_t epoch) const {
    return folder_ / fmt::format("{}{:06}{}", file_prefix, epoch, file_suffix);
}

std::optional<std::filesystem::path> CheckpointFolder::newest() const {
    if (const auto latest = read_file(folder_ / "latest")) {
        const auto named = folder_ / std::filesystem::path(trimmed(*latest)).filename();
        if (epoch_of(named) && std::filesystem::exists(named)) return named;
    }
    const auto found = checkpoints_in(folder_);
    if (found.empty()) return std::nullopt;
    return found.rbegin()->second;
}

std::filesystem::path CheckpointFolder::save(const Checkpoint& checkpoint, int keep) const {
    auto path = file(checkpoint.epoch);
    save_checkpoint(path, checkpoint);
    try {
        replace_file(folder_ / "latest", path.filename().string() + "\n");
    } catch (const std::system_error& error) {
        throw Error("cannot write " + (folder_ / "latest").string() + ": " + error.code().message());
    }
    // Later epochs are of an earlier run in the same folder; this run replaces them when it gets there.
    auto found = checkpoints_in(folder_);
    found.erase(found.upper_bound(checkpoint.epoch), found.end());
    while (static_cast<std::int64_t>(found.size()) > keep) {
        std::error_code ignored;
        std::filesystem::remove(found.begin()->second, ignored);
        found.erase(found.begin());
    }
    return path;
}

}  // namespace dtrain
