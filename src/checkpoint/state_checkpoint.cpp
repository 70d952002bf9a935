// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/state_checkpoint.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "program/stored_state.hpp"

namespace dtrain::checkpoint {
namespace {

constexpr std::string_view optimizer_group = "/optimizer/";

/// As "float32 [3, 5]".
std::string description(const io::TensorInfo& info) {
    return fmt::format("{} {}", to_string(info.element), to_string(info.shape));
}

const io::TensorInfo* find(const io::StoredCheckpoint& checkpoint, const std::string& name) {
    const auto at = std::ranges::find(checkpoint.tensors(), name, &io::TensorInfo::name);
    return at == checkpoint.tensors().end() ? nullptr : &*at;
}

}  // namespace

io::TensorInfo stored_info(const StateTensor& tensor) {
    const auto group = tensor.role == Role::parameter ? "/parameters/" : optimizer_group;
    return {std::string(group) + tensor.name, tensor.view.type, tensor.view.shape};
}

io::TensorInfo stored_info(const std::string& name, const std::vector<double>& values) {
    return {
        std::string(optimizer_group) + name, DataType::float64, {static_cast<std::int64_t>(values.size())}};
}

Checkpoint copy_of(const State& state, const CheckpointHeader& header, const Numbers& numbers) {
    Checkpoint checkpoint;
    static_cast<CheckpointHeader&>(checkpoint) = header;
    program::store(state, checkpoint);
    for (const auto& [name, values] : numbers)
        checkpoint.optimizer[name] = {stored_info(name, values).shape, values};
    return checkpoint;
}

void check_job(const std::map<std::string, std::string>& theirs,
               const std::map<std::string, std::string>& job, const std::string& file,
               const std::string& reader) {
    for (const auto& [field, value] : job) {
        const auto found = theirs.find(field);
        const auto was = found == theirs.end() ? std::string("unknown") : found->second;
        if (was == value) continue;
        throw UsageError(
            fmt::format("{}: made with {} {}, but this {} has {}{}", file, field, was, reader, value,
                        field == "global_batch" ? fmt::format("; set global_batch = {}", was) : ""));
    }
    for (const auto& [field, value] : theirs)
        if (!job.contains(field))
            throw UsageError(
                fmt::format("{}: made with {} {}, but this {} has none", file, field, value, reader));
}

void check_fits(const io::StoredCheckpoint& checkpoint, const std::map<std::string, std::string>& job,
                const State& state, const std::string& reader) {
    const auto file = checkpoint.path().string();
    check_job(checkpoint.header().job, job, file, reader);
    for (const auto& tensor : state.tensors()) {
        const auto needed = stored_info(tensor);
        const auto* const found = find(checkpoint, needed.name);
        if (found == nullptr)
            throw UsageError(
                fmt::format("{}: it has no {}, which this {}'s model needs", file, tensor.name, reader));
        if (*found != needed)
            throw UsageError(fmt::format("{}: {} is {}, but this {}'s model needs {}", file, tensor.name,
                                         description(*found), reader, description(needed)));
    }
}

void copy_into(const State& state, const State& from) {
    for (std::size_t i = 0; i < state.tensors().size(); ++i) {
        const auto& source = from.tensors()[i].view;
        std::memcpy(state.tensors()[i].view.data, source.data, source.bytes());
    }
}

Numbers read_into(const State& state, const io::StoredCheckpoint& checkpoint) {
    std::map<std::string, void*> places;
    for (const auto& tensor : state.tensors()) places[stored_info(tensor).name] = tensor.view.data;
    Numbers numbers;
    for (const auto& stored : checkpoint.tensors()) {
        if (places.contains(stored.name) || stored.element != DataType::float64 ||
            !stored.name.starts_with(optimizer_group))
            continue;
        auto& values = numbers[stored.name.substr(optimizer_group.size())];
        values.resize(stored.bytes() / sizeof(double));
        places[stored.name] = values.data();
    }
    std::vector<std::byte*> memory;
    for (const auto& stored : checkpoint.tensors()) {
        const auto place = places.find(stored.name);
        memory.push_back(place == places.end() ? nullptr : static_cast<std::byte*>(place->second));
    }
    checkpoint.read(memory);
    return numbers;
}

Restored restore_first(const std::vector<std::filesystem::path>& files,
                       const std::map<std::string, std::string>& job, const State& state,
                       const std::function<void(const std::string&)>& warn, const std::string& reader) {
    for (std::size_t i = 0;; ++i) {
        std::optional<io::StoredCheckpoint> checkpoint;
        Numbers numbers;
        auto refused = refusal_of([&] { checkpoint.emplace(files.at(i)); });
        if (checkpoint) {
            check_fits(*checkpoint, job, state, reader);
            refused = refusal_of([&] { numbers = read_into(state, *checkpoint); });
        }
        if (!refused) return {files[i], checkpoint->header(), std::move(numbers)};
        if (i + 1 == files.size()) throw UsageError(*refused);
        warn(fmt::format("{}; trying {}", *refused, files[i + 1].string()));
    }
}

}  // namespace dtrain::checkpoint
