// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/state_checkpoint.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::native {
namespace {

template <class Checkpointed>
auto& tensors_of(Checkpointed& checkpoint, Role role) {
    return role == Role::parameter ? checkpoint.parameters : checkpoint.optimizer;
}

}  // namespace

void store(const State& state, Checkpoint& checkpoint) {
    checkpoint.parameters.clear();
    checkpoint.optimizer.clear();
    for (const auto& tensor : state.tensors()) {
        auto& stored = tensors_of(checkpoint, tensor.role)[tensor.name];
        stored.shape = tensor.view.shape;
        if (tensor.view.type == DataType::float32) {
            const auto values = tensor.view.as<float>();
            stored.values = std::vector<float>(values.begin(), values.end());
        } else {
            const auto values = tensor.view.as<std::int64_t>();
            stored.values = std::vector<std::int64_t>(values.begin(), values.end());
        }
    }
}

void restore(const std::filesystem::path& file, const Checkpoint& checkpoint,
             const std::map<std::string, std::string>& job, const State& state) {
    for (const auto& [field, value] : job) {
        const auto found = checkpoint.job.find(field);
        const auto was = found == checkpoint.job.end() ? std::string("unknown") : found->second;
        if (was == value) continue;
        throw UsageError(
            fmt::format("{}: made with {} {}, but this job has {}{}", file.string(), field, was, value,
                        field == "global_batch" ? fmt::format("; set global_batch = {}", was) : ""));
    }
    for (const auto& [field, value] : checkpoint.job)
        if (!job.contains(field))
            throw UsageError(
                fmt::format("{}: made with {} {}, but this job has none", file.string(), field, value));
    for (const auto& tensor : state.tensors()) {
        const auto& stored = tensors_of(checkpoint, tensor.role);
        const auto found = stored.find(tensor.name);
        if (found == stored.end())
            throw UsageError(
                fmt::format("{}: it has no {}, which this job's model needs", file.string(), tensor.name));
        const bool same_type = std::holds_alternative<std::vector<float>>(found->second.values) ==
                               (tensor.view.type == DataType::float32);
        if (found->second.shape != tensor.view.shape || !same_type)
            throw UsageError(fmt::format("{}: {} has shape {}, but this job's model needs {}", file.string(),
                                         tensor.name, to_string(found->second.shape),
                                         to_string(tensor.view.shape)));
    }
    for (const auto& tensor : state.tensors()) {
        const auto& values = tensors_of(checkpoint, tensor.role).at(tensor.name).values;
        if (const auto* floats = std::get_if<std::vector<float>>(&values))
            std::copy(floats->begin(), floats->end(), tensor.view.as<float>().begin());
        else
            std::ranges::copy(std::get<std::vector<std::int64_t>>(values),
                              tensor.view.as<std::int64_t>().begin());
    }
}

}  // namespace dtrain::native
