// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/operators/dropped.hpp"
#include "gpu/operators/functions.hpp"

/// Element-wise operators as steps of a program that each thread runs for its elements.
namespace dtrain::gpu {

enum class Code : std::uint8_t {
    add,
    bce_with_logits,
    bce_with_logits_grad,
    copy,
    divide,
    divide_grad_y,
    dropout,
    fill,
    multiply,
    relu,
    relu_grad,
    scale,
    sigmoid,
    sigmoid_grad,
    sqrt,
    sqrt_grad,
    square,
    square_grad,
    subtract,
    tanh,
    tanh_grad,
};

/// Reads values of earlier steps, or of tensors, by their numbers.
template <class Real>
struct ChainStep {
    Code code{};
    std::uint8_t x = 0;
    std::uint8_t y = 0;
    std::uint8_t z = 0;
    Real a = 0;  ///< constants of scale, fill and dropout
    Real b = 0;
    Real* stored = nullptr;  ///< null: only later steps read it
};

template <class Real>
struct Chain {
    static constexpr std::size_t max_loads = 12;
    static constexpr std::size_t max_steps = 20;

    const Real* loads[max_loads] = {};
    ChainStep<Real> steps[max_steps] = {};
    std::uint32_t load_count = 0;
    std::uint32_t step_count = 0;
    const Dropped* dropped = nullptr;  ///< indexed by a step's y

    ON_DEVICE void operator()(std::size_t i) const {
        Real values[max_loads + max_steps];
        for (std::uint32_t load = 0; load < load_count; ++load) values[load] = loads[load][i];
        for (std::uint32_t number = 0; number < step_count; ++number) {
            const ChainStep<Real>& step = steps[number];
            const Real value = result(step, values, i);
            values[load_count + number] = value;
            if (step.stored != nullptr) step.stored[i] = value;
        }
    }

    ON_DEVICE Real result(const ChainStep<Real>& step, const Real* values, std::size_t i) const {
        if (step.code == Code::fill) return step.a;
        const Real x = values[step.x];
        switch (step.code) {
            case Code::add:
                return x + values[step.y];
            case Code::bce_with_logits:
                return CrossEntropyWithLogits::value(x, values[step.y]);
            case Code::bce_with_logits_grad:
                return CrossEntropyWithLogitsGradient::value(x, values[step.y], values[step.z]);
            case Code::copy:
            case Code::fill:
                return x;
            case Code::divide:
                return Over::value(x, values[step.y]);
            case Code::divide_grad_y:
                return DivisorGradient::value(x, values[step.y], values[step.z]);
            case Code::dropout:
                return dropped[step.y].has_element(i) ? Real(0) : x * step.a;
            case Code::multiply:
                return Times::value(x, values[step.y]);
            case Code::relu:
                return Relu::value(x);
            case Code::relu_grad:
                return Relu::gradient(x, values[step.y]);
            case Code::scale:
                return step.a * x + step.b;
            case Code::sigmoid:
                return Sigmoid::value(x);
            case Code::sigmoid_grad:
                return Sigmoid::gradient(x, values[step.y]);
            case Code::sqrt:
                return Sqrt::value(x);
            case Code::sqrt_grad:
                return Sqrt::gradient(x, values[step.y]);
            case Code::square:
                return x * x;
            case Code::square_grad:
                return SquareGradient::value(x, values[step.y]);
            case Code::subtract:
                return Minus::value(x, values[step.y]);
            case Code::tanh:
                return Tanh::value(x);
            case Code::tanh_grad:
                return Tanh::gradient(x, values[step.y]);
        }
        return x;
    }
};

}  // namespace dtrain::gpu
