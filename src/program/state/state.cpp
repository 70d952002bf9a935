// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <dtrain/executor.hpp>

#include "base/initial_value.hpp"
#include "base/with_element.hpp"
#include "program/state/state_access.hpp"
#include "program/state/state_order.hpp"

namespace dtrain {
namespace {

// Element i of a tensor depends only on (seed, name, i): counter-based, not sequential.
template <class Element>
void fill(std::span<Element> values, const Initializer& initializer, std::uint64_t key) {
    key += static_cast<std::uint64_t>(initializer.first_element);
    if (std::is_integral_v<Element> || initializer.kind == Initializer::Kind::constant) {
        std::ranges::fill(values, static_cast<Element>(initializer.value));
        return;
    }
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<Element>(initial_uniform(key, i, initializer.value));
}

void initialise(const StateTensor& tensor, const Initializer& initializer, std::uint64_t seed) {
    const auto key = initial_key(seed, initializer.block_of.empty() ? tensor.name : initializer.block_of);
    with_tensor_element(tensor.view.type,
                        [&]<class Value>() { fill(tensor.view.as<Value>(), initializer, key); });
}

/// @throws ProgramError if a table of the program exists only on parameter servers
void check_has_no_distributed_table(const Program& program) {
    for (const auto& op : program.operators()) {
        const auto distributed = op.attributes.find("is_distributed");
        if (distributed == op.attributes.end() || std::get<std::int64_t>(distributed->second) == 0) continue;
        const auto& table = op.input("weight");
        throw ProgramError(
            fmt::format("the table '{}' is_distributed, which only a job with parameter servers "
                        "can have: run what DistributeTranspiler makes of the program, or leave "
                        "is_distributed out",
                        table),
            op.type, table);
    }
}

/// The part of the first rank of this node.
std::byte* first_part(const SharedBuffer& shared) {
    int rank = 0;
    while (!shared.reaches(rank)) ++rank;
    return shared.of_rank(rank).data();
}

}  // namespace

State::Content::Content(const Program& program) {
    check_has_no_distributed_table(program);
    const auto order = program::state_order(program);
    std::map<std::string_view, std::size_t> offset_of;
    for (const auto* variable : order.variables) {
        offset_of[variable->name] = bytes;
        bytes += program::aligned_bytes_of(*variable);
        if (offset_of.size() == order.updated) shared_bytes = bytes;
    }
    for (const auto& variable : program.variables()) {
        const auto found = offset_of.find(variable.name);
        if (found == offset_of.end()) continue;
        offsets.push_back(found->second);
        tensors.push_back({variable.name, variable.role, {nullptr, variable.shape, variable.type}});
    }
}

State::Content::Content(const Content& other)
    : shared_bytes(other.shared_bytes), bytes(other.bytes), offsets(other.offsets), tensors(other.tensors) {
    other.read_on_host();
    place();
    for (std::size_t i = 0; i < tensors.size(); ++i)
        std::copy_n(static_cast<const std::byte*>(other.tensors[i].view.data), tensors[i].view.bytes(),
                    static_cast<std::byte*>(tensors[i].view.data));
}

std::byte* State::Content::address_of(std::size_t offset) const {
    if (!is_shared) return own.get() + offset;
    return offset < shared_bytes ? first_part(shared) + offset : own.get() + (offset - shared_bytes);
}

void State::Content::place() {
    own = program::make_memory(is_shared ? bytes - shared_bytes : bytes);
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].view.data = address_of(offsets[i]);
}

void State::Content::initialise(const Program& program, std::uint64_t seed, bool shared_ones) const {
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (shared_ones || !is_shared || offsets[i] >= shared_bytes)
            dtrain::initialise(tensors[i], program.variable(tensors[i].name).initializer, seed);
}

program::StateOnGpu& detail::StateAccess::put_on(const State& state, std::shared_ptr<kernels::Gpu> gpu,
                                                 int number) {
    auto& content = *state.content_;
    if (!content.on_gpu)
        content.on_gpu =
            std::make_unique<program::StateOnGpu>(std::move(gpu), number, content.own.get(), content.bytes);
    return *content.on_gpu;
}

std::vector<StateTensor> detail::StateAccess::on_device(const State& state) {
    auto tensors = state.content_->tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i)
        tensors[i].view.data = state.content_->on_gpu->memory() + state.content_->offsets[i];
    return tensors;
}

State::State(const Program& program, std::uint64_t seed) : content_(std::make_shared<Content>(program)) {
    content_->place();
    content_->initialise(program, seed, true);
}

State::State(const Program& program, std::uint64_t seed, const Communicator& communicator)
    : content_(std::make_shared<Content>(program)) {
    const bool first = communicator.node_local().rank() == 0;
    content_->is_shared = communicator.size() > 1;
    if (content_->is_shared) content_->shared = communicator.allocate(first ? content_->shared_bytes : 0);
    content_->place();
    content_->initialise(program, seed, first);
    communicator.barrier();
}

bool State::is_shared() const {
    return content_->is_shared;
}

bool State::shares(const StateTensor& tensor) const {
    const auto number = static_cast<std::size_t>(&tensor - content_->tensors.data());
    return content_->is_shared && content_->offsets[number] < content_->shared_bytes;
}

const std::vector<StateTensor>& State::tensors() const {
    content_->write_on_host();
    return content_->tensors;
}

const StateTensor* State::find(std::string_view name) const {
    const auto& all = tensors();
    const auto at = std::ranges::find(all, name, &StateTensor::name);
    return at == all.end() ? nullptr : &*at;
}

State State::clone() const {
    State copy(*this);
    copy.content_ = std::make_shared<Content>(*content_);
    return copy;
}

void broadcast(const State& state, const Communicator& communicator, int root) {
    const auto send = [](const StateTensor& tensor, const Communicator& to, int from) {
        to.broadcast(std::span(static_cast<std::byte*>(tensor.view.data), tensor.view.bytes()), from);
    };
    if (!state.is_shared()) {
        for (const auto& tensor : state.tensors()) send(tensor, communicator, root);
        return;
    }
    // Only the root writes the copy of its node; on the other nodes only the first rank does.
    const bool of_root = communicator.node_local().max(std::int64_t{communicator.rank() == root}) != 0;
    const bool writes = communicator.rank() == root || (!of_root && communicator.node_rank() == 0);
    const auto writers = communicator.split(writes ? 0 : 1, communicator.rank() == root ? 0 : 1);
    for (const auto& tensor : state.tensors()) {
        if (!state.shares(tensor))
            send(tensor, communicator, root);
        else if (writes)
            send(tensor, writers, 0);
    }
    communicator.barrier();
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
    for (const auto& tensor : program::StateAccess::to_read(state)) {
        if (tensor.role != Role::parameter) continue;
        sum = checksum(sum, std::as_bytes(std::span(tensor.name)));
        sum = checksum(sum, std::as_bytes(std::span(tensor.view.shape)));
        sum = checksum(sum, std::span(static_cast<const std::byte*>(tensor.view.data), tensor.view.bytes()));
    }
    return sum;
}

bool parameters_are_identical(const State& state, const Communicator& communicator) {
    return communicator.all_have(static_cast<std::int64_t>(parameters_checksum(state)));
}

}  // namespace dtrain
