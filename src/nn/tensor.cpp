// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <dtrain/nn_tensor.hpp>

#include "base/initial_value.hpp"
#include "base/with_element.hpp"
#include "nn/graph.hpp"
#include "nn/numbering.hpp"

namespace dtrain {
namespace eager {

Numbering& numbering() {
    static Numbering of_process;
    return of_process;
}

}  // namespace eager

namespace nn {
namespace {

// Whether the number is within the range of the type after truncation.
template <class Wanted, class Given>
bool is_number_of(Given number) {
    if constexpr (std::is_floating_point_v<Wanted>) {
        return true;
    } else if constexpr (std::is_floating_point_v<Given>) {
        const auto limit = std::ldexp(1.0, std::numeric_limits<Wanted>::digits);  // the largest value + 1
        const double whole = std::trunc(double{number});
        return whole >= -limit && whole < limit;
    } else {
        return std::in_range<Wanted>(number);
    }
}

// The same check as for a Program's variables.
void check_shape(const std::string& what, const Shape& shape) {
    Program().add({.name = what, .shape = shape});
}

}  // namespace

Tensor::Tensor(eager::Traced traced) : traced_(std::make_shared<const eager::Traced>(std::move(traced))) {}

const eager::Traced& Tensor::traced() const {
    if (!traced_)
        throw EmptyError(
            "a tensor was used that has no value: it was moved from, or nothing was assigned to it");
    return *traced_;
}

Tensor Tensor::copied(std::span<const std::byte> bytes, std::size_t count, const Shape& shape,
                      DataType type) {
    check_shape("tensor", shape);
    if (static_cast<std::int64_t>(count) != element_count(shape))
        throw UsageError(fmt::format("a tensor of shape {} has {} elements, but {} values were given",
                                     to_string(shape), element_count(shape), count));
    const auto value = eager::make_value(shape, type);
    std::ranges::copy(bytes, static_cast<std::byte*>(value.host_to_fill().data));
    return Tensor({value, {}});
}

Tensor Tensor::full(const Shape& shape, double number, DataType type) {
    check_shape("tensor", shape);
    const auto value = eager::make_value(shape, type);
    const auto host = value.host_to_fill();
    with_tensor_element(
        type, [&]<class Element>() { std::ranges::fill(host.as<Element>(), static_cast<Element>(number)); });
    return Tensor({value, {}});
}

const Shape& Tensor::shape() const {
    return traced().value.shape;
}

DataType Tensor::type() const {
    return traced().value.type;
}

TensorView Tensor::view() const {
    return traced().value.on_host();
}

void Tensor::check_is_scalar(const char* caller) const {
    if (element_count(shape()) != 1)
        throw NotScalarError(
            fmt::format("{}: the tensor is {} {}, expected one element; take the mean, or a loss", caller,
                        to_string(type()), to_string(shape())),
            shape());
}

void Tensor::backward() const {
    check_is_scalar("backward()");
    const auto& [value, origin] = traced();
    const auto& watchers = eager::GradientWatcher::of_every_pass();
    if (!origin.wants_gradient() && !watchers.empty()) {
        for (auto* const watcher : watchers) watcher->finish();
        return;
    }
    if (!origin.node)
        throw NoGradientError(
            "backward(): the tensor depends on no parameter; was it computed under NoGrad, or by an "
            "operator that has no gradient?");
    if (origin.node->is_spent())
        throw SpentGraphError(
            "backward() was called for this tensor already, which let its graph go; compute it again");
    eager::run_backward(traced());
}

Tensor Tensor::detach() const {
    return Tensor({traced().value, {}});
}

Tensor cast(const Tensor& x, DataType type) {
    const auto& from = x.traced().value;
    if (x.traced().origin.wants_gradient())
        throw UsageError(
            fmt::format("cast(): the tensor depends on a parameter, and no gradient goes through a cast to "
                        "{}; detach() it when it is to be data",
                        to_string(type)));
    const auto to = eager::make_value(from.shape, type);
    const auto given = from.on_host();
    const auto wanted = to.host_to_fill();
    with_tensor_element(from.type, [&]<class Given>() {
        with_tensor_element(type, [&]<class Wanted>() {
            std::ranges::transform(given.as<Given>(), wanted.as<Wanted>().begin(), [&](Given number) {
                if (!is_number_of<Wanted>(number))
                    throw UsageError(
                        fmt::format("cast(): {} is no number of type {}", number, to_string(type)));
                return static_cast<Wanted>(number);
            });
        });
    });
    return Tensor({to, {}});
}

NoGrad::NoGrad() {
    ++eager::NoGradGuard::count();
}

NoGrad::~NoGrad() {
    --eager::NoGradGuard::count();
}

void seed(std::uint64_t seed) {
    eager::numbering() = {.seed = seed};
}

Tensor randn(const Shape& shape, std::uint64_t stream, DataType type) {
    check_shape("randn", shape);
    if (!is_real(type))
        throw UsageError(fmt::format("randn(): normal numbers are real, not {}", to_string(type)));
    auto& numbering = eager::numbering();
    const auto name = fmt::format("randn {} {}", numbering.number("randn"), stream);
    const auto key = initial_key(numbering.seed, name);
    const auto value = eager::make_value(shape, type);
    const auto host = value.host_to_fill();
    // Box and Muller, 1958, the first number of each pair.
    with_tensor_element(type, [&]<class Element>() {
        std::uint64_t i = 0;
        for (auto& each : host.as<Element>()) {
            const auto radius = std::sqrt(-2 * std::log1p(-initial_unit(key, i)));
            each = static_cast<Element>(radius * std::cos(2 * std::numbers::pi * initial_unit(key, i + 1)));
            i += 2;
        }
    });
    return Tensor({value, {}});
}

}  // namespace nn
}  // namespace dtrain
