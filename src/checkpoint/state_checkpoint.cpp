// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/state_checkpoint.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/available_memory.hpp"
#include "base/with_element.hpp"

namespace dtrain::checkpoint {
namespace {

/// For example "float32 [3, 5]".
std::string description(const storage::TensorInfo& info) {
    return fmt::format("{} {}", to_string(info.element), to_string(info.shape));
}

const storage::TensorInfo* find(const storage::StoredCheckpoint& checkpoint, const std::string& name) {
    const auto at = std::ranges::find(checkpoint.tensors(), name, &storage::TensorInfo::name);
    return at == checkpoint.tensors().end() ? nullptr : &*at;
}

bool is_parameter(const storage::TensorInfo& info) {
    return info.name.starts_with(storage::parameters_group);
}

CheckpointTensor copy_of(const StoredArray& array) {
    return with_element(array.info.element, [&]<class Value>() -> CheckpointTensor {
        std::vector<Value> values(array.bytes().size() / sizeof(Value));
        std::ranges::copy(array.bytes(), std::as_writable_bytes(std::span(values)).data());
        return {array.info.shape, std::move(values)};
    });
}

/// "fc_0.weight" for "/parameters/fc_0.weight".
std::string name_within_group(const storage::TensorInfo& info) {
    return info.name.substr(info.name.find('/', 1) + 1);
}

bool may_be_numbers(const storage::TensorInfo& info) {
    return info.element == DataType::float64 && info.name.starts_with(storage::optimizer_group);
}

}  // namespace

storage::TensorInfo stored_info(const std::string& name, const std::vector<double>& values) {
    return {std::string(storage::optimizer_group) + name,
            DataType::float64,
            {static_cast<std::int64_t>(values.size())}};
}

Checkpoint copy_of(const StoredArrays& arrays, const CheckpointHeader& header, const Numbers& numbers) {
    Checkpoint checkpoint;
    static_cast<CheckpointHeader&>(checkpoint) = header;
    for (const auto& array : arrays.to_read())
        (is_parameter(array.info) ? checkpoint.parameters : checkpoint.optimizer)[array.name] =
            copy_of(array);
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

void check_fits(const storage::StoredCheckpoint& checkpoint, const std::map<std::string, std::string>& job,
                const StoredArrays& arrays, const std::string& reader) {
    const auto file = checkpoint.path().string();
    check_job(checkpoint.header().job, job, file, reader);
    std::set<std::string> known;
    for (const auto& array : arrays.to_read()) {
        const auto& needed = array.info;
        known.insert(needed.name);
        const auto* const found = find(checkpoint, needed.name);
        if (found == nullptr)
            throw UsageError(
                fmt::format("{}: it has no {}, which this {}'s model needs", file, array.name, reader));
        if (*found != needed)
            throw UsageError(fmt::format("{}: {} is {}, but this {}'s model needs {}", file, array.name,
                                         description(*found), reader, description(needed)));
    }
    if (arrays.may_be_a_part()) return;
    for (const auto& stored : checkpoint.tensors())
        if (!known.contains(stored.name) && !may_be_numbers(stored))
            throw UsageError(fmt::format("{}: it has {} ({}), which this {} has not", file,
                                         name_within_group(stored), description(stored), reader));
}

Numbers read_into(const StoredArrays& arrays, const storage::StoredCheckpoint& checkpoint) {
    std::map<std::string, std::byte*> destinations;
    for (const auto& array : arrays.to_write()) destinations[array.info.name] = array.data;
    Numbers numbers;
    checkpoint.check_sizes();
    for (const auto& stored : checkpoint.tensors()) {
        if (destinations.contains(stored.name) || !may_be_numbers(stored)) continue;
        check_memory_at_hand(fmt::format("{}: {}", checkpoint.path().string(), name_within_group(stored)),
                             static_cast<std::int64_t>(stored.bytes()));
        auto& values = numbers[name_within_group(stored)];
        values.resize(stored.bytes() / sizeof(double));
        destinations[stored.name] = std::as_writable_bytes(std::span(values)).data();
    }
    std::vector<std::byte*> memory;
    for (const auto& stored : checkpoint.tensors()) {
        const auto found = destinations.find(stored.name);
        memory.push_back(found == destinations.end() ? nullptr : found->second);
    }
    checkpoint.read(memory);
    return numbers;
}

Restored restore_first(const std::vector<std::filesystem::path>& files,
                       const std::map<std::string, std::string>& job, const StoredArrays& arrays,
                       const std::function<void(const std::string&)>& warn, const std::string& reader) {
    for (std::size_t i = 0;; ++i) {
        std::optional<storage::StoredCheckpoint> checkpoint;
        Numbers numbers;
        auto refused = refusal_of([&] { checkpoint.emplace(files.at(i)); });
        if (checkpoint) {
            check_fits(*checkpoint, job, arrays, reader);
            refused = refusal_of([&] { numbers = read_into(arrays, *checkpoint); });
        }
        if (!refused) return {files[i], checkpoint->header(), std::move(numbers)};
        if (i + 1 == files.size()) throw UsageError(*refused);
        warn(fmt::format("{}; trying {}", *refused, files[i + 1].string()));
    }
}

}  // namespace dtrain::checkpoint
