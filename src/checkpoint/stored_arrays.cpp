// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/stored_arrays.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/with_element.hpp"
#include "comm/api/same_list.hpp"
#include "program/state/state_access.hpp"

namespace dtrain::checkpoint {
namespace {

std::string path_of(bool is_parameter, const std::string& name) {
    return std::string(is_parameter ? storage::parameters_group : storage::optimizer_group) + name;
}

storage::TensorInfo info_of(const CheckpointBuffer& buffer) {
    auto shape = buffer.shape;
    if (shape.empty()) shape = {static_cast<std::int64_t>(buffer.values.size())};
    return {path_of(buffer.is_parameter, buffer.name), buffer.values.type(), std::move(shape)};
}

bool is_path(const std::string& name) {
    const auto parts = split(name, '/');
    return std::ranges::none_of(
        parts, [](const std::string& part) { return part.empty() || part == "." || part == ".."; });
}

bool has_its_size(const CheckpointBuffer& buffer) {
    const auto& shape = buffer.shape;
    return shape.empty() || (std::ranges::none_of(shape, [](auto extent) { return extent < 0; }) &&
                             static_cast<std::size_t>(element_count(shape)) == buffer.values.size());
}

/// Finds an array whose name is also the group of another one, which HDF5 does not allow.
std::optional<std::string> one_within_another(const std::set<std::string>& names) {
    for (const auto& name : names)
        for (auto end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1))
            if (names.contains(name.substr(0, end)))
                return fmt::format("checkpoints: there are buffers '{}' and '{}'; a file cannot have both",
                                   name.substr(0, end), name);
    return std::nullopt;
}

std::optional<std::string> what_is_wrong(const std::vector<CheckpointBuffer>& buffers) {
    if (buffers.empty()) return "checkpoints: there is no buffer to be saved";
    std::set<std::string> names;
    for (const auto& buffer : buffers) {
        if (!is_path(buffer.name))
            return fmt::format(
                "checkpoints: '{}' is no name for a buffer: \"weight\" and \"layer_1/weight\" are",
                buffer.name);
        if (!names.insert(buffer.name).second)
            return fmt::format("checkpoints: there are two buffers '{}'", buffer.name);
        if (!has_its_size(buffer))
            return fmt::format("checkpoints: buffer '{}' has {} elements, which is not its shape {}",
                               buffer.name, buffer.values.size(), to_string(buffer.shape));
    }
    return one_within_another(names);
}

}  // namespace

StoredArrays::StoredArrays(State state) : state_(std::move(state)) {
    for (const auto& [name, role, view] : program::StateAccess::on_host(*state_))
        arrays_.push_back({name,
                           {path_of(role == Role::parameter, name), view.type, view.shape},
                           static_cast<std::byte*>(view.data)});
}

StoredArrays::StoredArrays(const std::vector<CheckpointBuffer>& buffers) {
    for (const auto& buffer : buffers)
        arrays_.push_back({buffer.name, info_of(buffer), buffer.values.bytes().data()});
}

const std::vector<StoredArray>& StoredArrays::to_read() const {
    if (state_) program::StateAccess::to_read(*state_);
    return arrays_;
}

const std::vector<StoredArray>& StoredArrays::to_write() const {
    if (state_) static_cast<void>(state_->tensors());
    return arrays_;
}

void StoredArrays::broadcast_from_first(const Communicator& communicator) const {
    if (state_) return broadcast(*state_, communicator);  // handles memory that ranks share
    for (const auto& array : arrays_) communicator.broadcast(array.bytes());
}

std::vector<std::byte> StoredArrays::values() const {
    std::vector<std::byte> values;
    std::size_t bytes = 0;
    for (const auto& array : arrays_) bytes += array.bytes().size();
    values.reserve(bytes);
    for (const auto& array : to_read())
        values.insert(values.end(), array.bytes().begin(), array.bytes().end());
    return values;
}

void StoredArrays::set_to(std::span<const std::byte> values) const {
    for (const auto& array : to_write()) {
        std::ranges::copy(values.first(array.bytes().size()), array.data);
        values = values.subspan(array.bytes().size());
    }
}

std::vector<CheckpointBuffer> checked_buffers(const Communicator& communicator,
                                              std::vector<CheckpointBuffer> buffers) {
    throw_together(communicator, what_is_wrong(buffers));
    std::vector<std::string> list;
    for (const auto& buffer : buffers) {
        const auto info = info_of(buffer);
        list.push_back(fmt::format("{} ({} {})", info.name, to_string(info.element), to_string(info.shape)));
    }
    if (const auto difference = comm::first_difference(communicator, list, "buffers"))
        throw_together(communicator, std::optional("checkpoints: " + *difference));
    return buffers;
}

}  // namespace dtrain::checkpoint
