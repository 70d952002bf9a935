// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "storage/stored_checkpoint.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/available_memory.hpp"
#include "base/with_element.hpp"
#include "storage/block_io.hpp"

namespace dtrain::storage {
namespace {

CheckpointTensor::Values room_for(const TensorInfo& info) {
    const auto count = static_cast<std::size_t>(info.bytes()) / size_of(info.element);
    return with_element(info.element, [count]<class Value>() -> CheckpointTensor::Values {
        return std::vector<Value>(count);
    });
}

CheckpointTensor& tensor_of(Checkpoint& checkpoint, std::string_view name) {
    if (name.starts_with(parameters_group))
        return checkpoint.parameters[std::string(name.substr(parameters_group.size()))];
    return checkpoint.optimizer[std::string(name.substr(optimizer_group.size()))];
}

const CheckpointTensor& tensor_of(const Checkpoint& checkpoint, std::string_view name) {
    if (name.starts_with(parameters_group))
        return checkpoint.parameters.at(std::string(name.substr(parameters_group.size())));
    return checkpoint.optimizer.at(std::string(name.substr(optimizer_group.size())));
}

}  // namespace

std::span<const std::byte> bytes_of(const CheckpointTensor& tensor) {
    return std::visit([](const auto& values) { return std::as_bytes(std::span(values)); }, tensor.values);
}

TensorInfo info_of(const std::string& group, const std::string& name, const CheckpointTensor& tensor) {
    const auto element =
        std::visit([]<class Value>(const std::vector<Value>&) { return data_type_of<Value>; }, tensor.values);
    return {group + name, element, tensor.shape};
}

StoredCheckpoint::StoredCheckpoint(const std::filesystem::path& path) : path_(path) {
    const bool is_directory = std::filesystem::is_directory(path);
    if (is_directory && !std::filesystem::exists(path / index_name) &&
        std::filesystem::exists(path / servers_name))
        throw UsageError(fmt::format(
            "{}: parameter servers have saved it, and a job without them cannot go on from it; start it "
            "with any number of servers (dtrain-launch --server_num N --worker_num M, or [servers])",
            path.string()));
    auto index = is_directory ? read_index(path / index_name) : read_index_of_file(path);
    if (!index) {
        *this = StoredCheckpoint(path, load_file(path));
        return;
    }
    index_ = std::move(*index);
    for (std::size_t shard = 0; shard < index_.shards.size(); ++shard)
        files_.push_back(is_directory ? path / shard_name(shard) : path);
    for (const auto& info : index_.tensors)
        if (!info.name.starts_with(parameters_group) && !info.name.starts_with(optimizer_group))
            throw UsageError(
                fmt::format("{}: this index of a checkpoint makes no sense: {}", path.string(), info.name));
}

StoredCheckpoint::StoredCheckpoint(std::filesystem::path path, Checkpoint content)
    : path_(std::move(path)), index_{static_cast<const CheckpointHeader&>(content), {}, {}} {
    for (const auto& [name, tensor] : content.optimizer)
        index_.tensors.push_back(info_of(std::string(optimizer_group), name, tensor));
    for (const auto& [name, tensor] : content.parameters)
        index_.tensors.push_back(info_of(std::string(parameters_group), name, tensor));
    content_ = std::make_shared<const Checkpoint>(std::move(content));
}

void StoredCheckpoint::check_sizes() const {
    for (std::size_t shard = 0; shard < index_.shards.size(); ++shard)
        check_size(files_[shard], index_.shards[shard]);
}

void StoredCheckpoint::read(std::span<std::byte* const> memory) const {
    if (content_) {
        for (std::size_t i = 0; i < memory.size(); ++i)
            if (memory[i] != nullptr)
                std::ranges::copy(bytes_of(tensor_of(*content_, tensors()[i].name)), memory[i]);
        return;
    }
    for (std::size_t shard = 0; shard < index_.shards.size(); ++shard) {
        std::vector<std::byte*> targets;
        for (const auto& [piece, offset, sum] : index_.shards[shard].pieces) {
            auto* const tensor = memory[piece.tensor];
            targets.push_back(
                tensor == nullptr ? nullptr : tensor + piece.first_row * tensors()[piece.tensor].row_bytes());
        }
        read_shard(files_[shard], tensors(), index_.shards[shard], targets);
    }
}

Checkpoint loaded(const StoredCheckpoint& stored) {
    stored.check_sizes();
    Checkpoint checkpoint;
    static_cast<CheckpointHeader&>(checkpoint) = stored.header();
    const auto& infos = stored.tensors();
    std::int64_t bytes = 0;
    for (const auto& info : infos) bytes += info.bytes();  // at most the size of the files
    check_memory_at_hand(stored.path().string(), bytes);
    std::vector<CheckpointTensor*> tensors;
    for (const auto& info : infos) tensors.push_back(&tensor_of(checkpoint, info.name));
    // Two threads, since allocating the memory takes as long as reading into it.
    in_threads(tensors.size(), 2, [&](std::size_t i) {
        try {
            *tensors[i] = {infos[i].shape, room_for(infos[i])};
        } catch (const std::bad_alloc&) {
            throw UsageError(
                fmt::format("{}: {} is larger than the memory", stored.path().string(), infos[i].name));
        }
    });
    std::vector<std::byte*> memory;
    for (auto* const tensor : tensors)
        memory.push_back(std::visit(
            [](auto& values) { return std::as_writable_bytes(std::span(values)).data(); }, tensor->values));
    stored.read(memory);
    return checkpoint;
}

}  // namespace dtrain::storage
