// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/saved_dense.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dtrain/state_checkpoints.hpp>

#include "base/with_element.hpp"
#include "program/state/state_access.hpp"
#include "ps/job/server_manifest.hpp"

namespace dtrain::ps {
namespace {

using nlohmann::json;

/// A range of elements of a whole variable, by its start.
struct Elements {
    std::string variable;
    std::int64_t first = 0;
};

/// Validates the offset of a part in its variable. @throws UsageError if offset and size are impossible
std::int64_t checked(std::int64_t first, const CheckpointTensor::Values& values,
                     const std::filesystem::path& file, const std::string& name) {
    const auto size = std::visit([](const auto& each) { return std::ssize(each); }, values);
    if (first < 0 || first > std::numeric_limits<std::int64_t>::max() - size)
        refuse(file, fmt::format("'{}' cannot begin with element {}", name, first));
    return first;
}

Elements elements_of(const Program& program, const std::string& name) {
    const auto& initializer = program.variable(name).initializer;
    if (initializer.block_of.empty()) return {name, 0};
    return {initializer.block_of, initializer.first_element};
}

}  // namespace

DenseCopy::DenseCopy(const ServerPlan& plan, const Server& server)
    : file_(fmt::format("dense-{:04}-of-{:04}.h5", plan.shard.server, plan.shard.servers)) {
    const auto& state = server.dense().state();
    checkpoint_ = to_checkpoint(state, {.step = server.steps()});
    for (const auto& tensor : program::StateAccess::on_host(state)) {
        const auto [variable, first] = elements_of(plan.program, tensor.name);
        blocks_.push_back({tensor.name, variable, first, tensor.role == Role::parameter});
    }
}

std::string DenseCopy::write(const std::filesystem::path& folder) const {
    save_checkpoint(folder / file_, checkpoint_);
    json tensors = json::array();
    for (const auto& [name, variable, first, is_parameter] : blocks_)
        tensors.push_back(
            {{"name", name}, {"parameter", is_parameter}, {"variable", variable}, {"first", first}});
    return json{{"file", file_}, {"xxh3", sum_of(folder / file_)}, {"tensors", tensors}}.dump();
}

SavedDense::SavedDense(std::filesystem::path folder, const json& servers) : folder_(std::move(folder)) {
    for (const auto& server : servers) {
        const auto& dense = server.at("dense");
        const auto file = named_file(folder_, dense.at("file").get<std::string>());
        if (sum_of(file) != dense.at("xxh3").get<std::string>()) refuse(file, "it is damaged");
        auto checkpoint = load_checkpoint(file);
        for (const auto& tensor : dense.at("tensors")) {
            const auto name = tensor.at("name").get<std::string>();
            auto& group = tensor.at("parameter").get<bool>() ? checkpoint.parameters : checkpoint.optimizer;
            const auto found = group.find(name);
            if (found == group.end()) refuse(file, fmt::format("it has no '{}'", name));
            const auto first =
                checked(tensor.at("first").get<std::int64_t>(), found->second.values, file, name);
            parts_.push_back(
                {tensor.at("variable").get<std::string>(), first, std::move(found->second.values)});
        }
    }
}

void SavedDense::fill(const Program& program, const State& state) const {
    for (const auto& tensor : state.tensors()) fill(program, tensor);
}

void SavedDense::fill(const Program& program, const StateTensor& tensor) const {
    const auto wanted = elements_of(program, tensor.name);
    with_tensor_element(tensor.view.type, [&]<class Value>() {
        const auto values = tensor.view.as<Value>();
        const auto count = static_cast<std::int64_t>(values.size());
        std::int64_t covered = 0;
        for (const auto& part : parts_) {
            if (covered == count) break;
            const auto* const from = std::get_if<std::vector<Value>>(&part.values);
            if (part.variable != wanted.variable || from == nullptr) continue;
            const auto size = static_cast<std::int64_t>(from->size());
            const auto begin = std::max(part.first, wanted.first);
            const auto end = std::min(part.first + size, wanted.first + count);
            if (begin >= end) continue;
            std::copy_n(from->begin() + (begin - part.first), end - begin,
                        values.begin() + (begin - wanted.first));
            covered += end - begin;
        }
        if (covered != count)
            refuse(folder_, fmt::format("it has {} of the {} elements of '{}' that this job's model needs",
                                        covered, count, tensor.name));
    });
}

}  // namespace dtrain::ps
