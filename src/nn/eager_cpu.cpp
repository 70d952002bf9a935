// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "nn/eager_cpu.hpp"

#include <algorithm>

namespace dtrain::eager {

Value EagerCpu::make_value(const Shape& shape, DataType type) {
    return {pool_->take(TensorView{nullptr, shape, type}.bytes()), shape, type};
}

Value EagerCpu::value_of(const State& state) {
    const auto& view = state.tensors().front().view;
    const auto owner = std::make_shared<State>(state);
    return {{owner, static_cast<std::byte*>(view.data)}, view.shape, view.type};
}

Value EagerCpu::make_number(std::int64_t number) {
    auto value = make_value({1}, DataType::int64);
    value.host_to_fill().as<std::int64_t>().front() = number;
    return value;
}

void EagerCpu::copy(const Value& from, const Value& to) {
    std::copy_n(from.memory.get(), from.on_device().bytes(), to.memory.get());
}

}  // namespace dtrain::eager
