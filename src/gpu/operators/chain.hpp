// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/operators/dropped.hpp"
#include "kernels/functors/functions.hpp"

/// Element-wise operators as steps of a program that each thread runs for its elements.
namespace dtrain::gpu {

/// What a step does, from `function` on: Code::function + n is the nth of kernels::ElementOperators.
enum class Code : std::uint8_t { add, copy, dropout, fill, scale, function };

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
            case Code::copy:
                return x;
            case Code::dropout:
                return dropped[step.y].has_element(i) ? Real(0) : x * step.a;
            case Code::scale:
                return step.a * x + step.b;
            default:
                return of_function<0, kernels::ElementOperators::size>(step, values);
        }
    }

    /// Finds the function among those from `begin` to `end` by halves.
    template <std::size_t begin, std::size_t end>
    ON_DEVICE static Real of_function(const ChainStep<Real>& step, const Real* values) {
        if constexpr (end - begin == 1) {
            using Function = kernels::ElementOperators::at<begin>;
            if constexpr (Function::inputs.size() == 1)
                return Function::value(values[step.x]);
            else if constexpr (Function::inputs.size() == 2)
                return Function::value(values[step.x], values[step.y]);
            else
                return Function::value(values[step.x], values[step.y], values[step.z]);
        } else {
            constexpr auto middle = (begin + end) / 2;
            return static_cast<std::size_t>(step.code) < static_cast<std::size_t>(Code::function) + middle
                       ? of_function<begin, middle>(step, values)
                       : of_function<middle, end>(step, values);
        }
    }
};

}  // namespace dtrain::gpu
