// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <dtrain/executor.hpp>
#include <dtrain/nn_tensor.hpp>

#include "nn/eager_device.hpp"
#include "nn/graph.hpp"
#include "nn/numbering.hpp"

namespace dtrain::nn {
namespace {

Program only(const Variable& variable) {
    Program program;
    program.add(variable);
    return program;
}

}  // namespace

Parameter::Parameter(const std::string& name, const Shape& shape, const Initializer& initializer,
                     DataType type) {
    const auto program = only(
        {.name = name, .shape = shape, .type = type, .role = Role::parameter, .initializer = initializer});
    if (!is_real(type))
        throw ProgramError(fmt::format("parameter '{}' is {}, expected real numbers (float32 or float64)",
                                       name, to_string(type)),
                           "", name);
    const State state(program, eager::numbering().seed);
    leaf_ = std::make_shared<eager::Leaf>(eager::Leaf{.name = name,
                                                      .value = eager::own_device().value_of(state),
                                                      .gradient = eager::make_value(shape, type)});
}

const std::shared_ptr<eager::Leaf>& Parameter::leaf() const {
    if (!leaf_)
        throw EmptyError("a parameter was used that is empty: its layer was moved from, or never made");
    return leaf_;
}

const std::string& Parameter::name() const {
    return leaf()->name;
}

const Shape& Parameter::shape() const {
    return leaf()->value.shape;
}

DataType Parameter::type() const {
    return leaf()->value.type;
}

TensorView Parameter::view() const {
    return leaf()->value.on_host();
}

void Parameter::set(std::span<const std::byte> bytes, std::size_t count, DataType type) const {
    const auto& value = leaf()->value;
    if (type != value.type || static_cast<std::int64_t>(count) != element_count(value.shape))
        throw UsageError(
            fmt::format("set_values(): parameter '{}' is {} {}, which are {} values, but {} of {} "
                        "were given",
                        name(), to_string(value.type), to_string(value.shape), element_count(value.shape),
                        count, to_string(type)));
    std::ranges::copy(bytes, static_cast<std::byte*>(value.host_to_fill().data));
    ++leaf()->version;
}

bool Parameter::has_gradient() const {
    return leaf()->has_gradient;
}

TensorView Parameter::gradient_view() const {
    if (!has_gradient())
        throw NoGradientError(fmt::format(
            "parameter '{}' has no gradient; call backward() of a loss that depends on it", name()));
    return leaf()->gradient.host_to_write();
}

void Parameter::zero_grad() const {
    leaf()->has_gradient = false;
}

Parameter::operator Tensor() const {
    return Tensor({leaf()->value, {nullptr, 0, leaf()}});
}

}  // namespace dtrain::nn
