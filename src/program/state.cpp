// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <dtrain/executor.hpp>

#include "base/checksum.hpp"
#include "program/aligned_memory.hpp"
#include "program/state_order.hpp"

namespace dtrain {
namespace {

std::uint64_t checksum_of_text(std::uint64_t start, std::string_view text) {
    return checksum(start, std::as_bytes(std::span(text)));
}

// Element i of a tensor is made from (seed, name, i) alone: a counter and no sequence.
template <class Element>
void fill(std::span<Element> values, const Initializer& initializer, std::uint64_t key) {
    if (std::is_integral_v<Element> || initializer.kind == Initializer::Kind::constant) {
        std::ranges::fill(values, static_cast<Element>(initializer.value));
        return;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double unit = static_cast<double>(mixed(key + i) >> 11U) * 0x1p-53;  // [0, 1)
        values[i] = static_cast<Element>((2.0 * unit - 1.0) * initializer.value);
    }
}

void initialise(const StateTensor& tensor, const Initializer& initializer, std::uint64_t seed) {
    const auto key = checksum_of_text(seed, tensor.name);
    switch (tensor.view.type) {
        case DataType::float32:
            return fill(tensor.view.as<float>(), initializer, key);
        case DataType::float64:
            return fill(tensor.view.as<double>(), initializer, key);
        case DataType::int64:
            return fill(tensor.view.as<std::int64_t>(), initializer, key);
        case DataType::int32:
            return fill(tensor.view.as<std::int32_t>(), initializer, key);
    }
}

}  // namespace

struct State::Content {
    program::AlignedMemory memory;
    std::size_t bytes = 0;
    std::vector<StateTensor> tensors;
};

State::State(const Program& program, std::uint64_t seed) : content_(std::make_shared<Content>()) {
    std::map<std::string_view, std::size_t> offsets;
    for (const auto* variable : program::state_order(program)) {
        offsets[variable->name] = content_->bytes;
        content_->bytes += program::aligned(TensorView{nullptr, variable->shape, variable->type}.bytes());
    }
    content_->memory = program::make_memory(content_->bytes);
    for (const auto& variable : program.variables()) {
        const auto offset = offsets.find(variable.name);
        if (offset == offsets.end()) continue;
        StateTensor tensor{variable.name,
                           variable.role,
                           {content_->memory.get() + offset->second, variable.shape, variable.type}};
        initialise(tensor, variable.initializer, seed);
        content_->tensors.push_back(std::move(tensor));
    }
}

const std::vector<StateTensor>& State::tensors() const {
    return content_->tensors;
}

const StateTensor* State::find(std::string_view name) const {
    const auto at = std::ranges::find(content_->tensors, name, &StateTensor::name);
    return at == content_->tensors.end() ? nullptr : &*at;
}

State State::clone() const {
    State copy(*this);
    copy.content_ = std::make_shared<Content>();
    copy.content_->bytes = content_->bytes;
    copy.content_->memory = program::make_memory(content_->bytes);
    std::copy_n(content_->memory.get(), content_->bytes, copy.content_->memory.get());
    copy.content_->tensors = content_->tensors;
    for (auto& tensor : copy.content_->tensors)
        tensor.view.data = copy.content_->memory.get() +
                           (static_cast<const std::byte*>(tensor.view.data) - content_->memory.get());
    return copy;
}

void broadcast(const State& state, const Communicator& communicator, int root) {
    for (const auto& tensor : state.tensors())
        communicator.broadcast(std::span(static_cast<std::byte*>(tensor.view.data), tensor.view.bytes()),
                               root);
}

void average_parameters(const State& state, const Communicator& communicator) {
    const auto average = [&](auto values, auto size) {
        communicator.allreduce_sum(values);
        for (auto& value : values) value /= size;
    };
    for (const auto& tensor : state.tensors()) {
        if (tensor.role != Role::parameter) continue;
        if (tensor.view.type == DataType::float64)
            average(tensor.view.as<double>(), static_cast<double>(communicator.size()));
        else
            average(tensor.view.as<float>(), static_cast<float>(communicator.size()));
    }
}

std::uint64_t parameters_checksum(const State& state) {
    std::uint64_t sum = 0;
    for (const auto& tensor : state.tensors()) {
        if (tensor.role != Role::parameter) continue;
        sum = checksum_of_text(sum, tensor.name);
        sum = checksum(sum, std::as_bytes(std::span(tensor.view.shape)));
        sum = checksum(sum, std::span(static_cast<const std::byte*>(tensor.view.data), tensor.view.bytes()));
    }
    return sum;
}

bool parameters_are_identical(const State& state, const Communicator& communicator) {
    const auto mine = static_cast<std::int64_t>(parameters_checksum(state));
    const auto smallest = communicator.min(mine);
    return communicator.max(mine) == smallest;
}

}  // namespace dtrain
