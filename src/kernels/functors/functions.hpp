// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <string_view>
#include <type_traits>

#include "kernels/functors/exponential.hpp"
#include "kernels/functors/named_types.hpp"
#include "kernels/functors/on_device.hpp"

/// The element-wise operators: names, slots and formulas, once for CPU loops and GPU kernels. A new one is a
/// struct here and its name in a list at the end: its kernels, its steps in chains and, for a function of one
/// variable, its schemas follow from that.
namespace dtrain::kernels {

/// NaN propagates: a run that has diverged must not look like one that learns nothing.
struct Relu {
    static constexpr std::string_view type = "relu";
    static constexpr std::string_view gradient_type = "relu_grad";
    static constexpr std::string_view gradient_reads = "out";
    template <class Real>
    PER_ELEMENT static Real value(Real x) {
        return x < 0 ? Real(0) : x;
    }
    template <class Real>
    PER_ELEMENT static Real gradient(Real y, Real dy) {
        return y > 0 ? dy : Real(0);
    }
};

struct Tanh {
    static constexpr std::string_view type = "tanh";
    static constexpr std::string_view gradient_type = "tanh_grad";
    static constexpr std::string_view gradient_reads = "out";
    template <class Real>
    PER_ELEMENT static Real value(Real x) {
        return hyperbolic_tangent(x);
    }
    template <class Real>
    PER_ELEMENT static Real gradient(Real y, Real dy) {
        return dy * (1 - y * y);
    }
};

struct Sigmoid {
    static constexpr std::string_view type = "sigmoid";
    static constexpr std::string_view gradient_type = "sigmoid_grad";
    static constexpr std::string_view gradient_reads = "out";
    template <class Real>
    PER_ELEMENT static Real value(Real x) {
        return 1 / (1 + exponential(-x));
    }
    template <class Real>
    PER_ELEMENT static Real gradient(Real y, Real dy) {
        return dy * y * (1 - y);
    }
};

struct Sqrt {
    static constexpr std::string_view type = "sqrt";
    static constexpr std::string_view gradient_type = "sqrt_grad";
    static constexpr std::string_view gradient_reads = "out";
    template <class Real>
    PER_ELEMENT static Real value(Real x) {
        return std::sqrt(x);
    }
    template <class Real>
    PER_ELEMENT static Real gradient(Real y, Real dy) {
        return dy / (2 * y);
    }
};

struct Square {
    static constexpr std::string_view type = "square";
    static constexpr std::string_view gradient_type = "square_grad";
    static constexpr std::string_view gradient_reads = "x";
    template <class Real>
    PER_ELEMENT static Real value(Real x) {
        return x * x;
    }
    template <class Real>
    PER_ELEMENT static Real gradient(Real x, Real dy) {
        return 2 * x * dy;
    }
};

struct Subtract {
    static constexpr std::string_view type = "subtract";
    static constexpr std::array<std::string_view, 2> inputs{"x", "y"};
    static constexpr std::string_view output = "out";
    template <class Real>
    PER_ELEMENT static Real value(Real x, Real y) {
        return x - y;
    }
};

struct Multiply {
    static constexpr std::string_view type = "multiply";
    static constexpr std::array<std::string_view, 2> inputs{"x", "y"};
    static constexpr std::string_view output = "out";
    template <class Real>
    PER_ELEMENT static Real value(Real x, Real y) {
        return x * y;
    }
};

struct Divide {
    static constexpr std::string_view type = "divide";
    static constexpr std::array<std::string_view, 2> inputs{"x", "y"};
    static constexpr std::string_view output = "out";
    template <class Real>
    PER_ELEMENT static Real value(Real x, Real y) {
        return x / y;
    }
};

struct DivisorGradient {
    static constexpr std::string_view type = "divide_grad_y";
    static constexpr std::array<std::string_view, 3> inputs{"y", "out", "out@grad"};
    static constexpr std::string_view output = "y@grad";
    template <class Real>
    PER_ELEMENT static Real value(Real y, Real out, Real dout) {
        return -dout * out / y;
    }
};

struct CrossEntropyWithLogits {
    static constexpr std::string_view type = "bce_with_logits";
    static constexpr std::array<std::string_view, 2> inputs{"logits", "label"};
    static constexpr std::string_view output = "out";
    template <class Real>
    PER_ELEMENT static Real value(Real x, Real label) {
        return Relu::value(x) - x * label + std::log1p(std::exp(-std::fabs(x)));
    }
};

struct CrossEntropyWithLogitsGradient {
    static constexpr std::string_view type = "bce_with_logits_grad";
    static constexpr std::array<std::string_view, 3> inputs{"logits", "label", "out@grad"};
    static constexpr std::string_view output = "logits@grad";
    template <class Real>
    PER_ELEMENT static Real value(Real x, Real label, Real dout) {
        return dout * (1 / (1 + std::exp(-x)) - label);
    }
};

/// In place of an activation: leaves a value as it is.
struct NoActivation {
    template <class Real>
    PER_ELEMENT static Real value(Real x) {
        return x;
    }
};

/// The operator of a function of one variable.
template <class Function>
struct Forward {
    static constexpr std::string_view type = Function::type;
    static constexpr std::array<std::string_view, 1> inputs{"x"};
    static constexpr std::string_view output = "out";
    template <class Real>
    PER_ELEMENT static Real value(Real x) {
        return Function::value(x);
    }
};

/// The operator of its gradient, which reads the function's result or its argument.
template <class Function>
struct Backward {
    static constexpr std::string_view type = Function::gradient_type;
    static constexpr std::array<std::string_view, 2> inputs{Function::gradient_reads, "out@grad"};
    static constexpr std::string_view output = "x@grad";
    template <class Real>
    PER_ELEMENT static Real value(Real read, Real dy) {
        return Function::gradient(read, dy);
    }
};

template <class... Functions>
using FunctionList = NamedTypes<Functions...>;

template <class... Functions>
constexpr FunctionList<Forward<Functions>..., Backward<Functions>...> operators_of(
    FunctionList<Functions...>) {
    return {};
}

/// Those that `fc` computes with its product.
using Activations = FunctionList<Relu, Tanh, Sigmoid>;

/// Those of one variable, with a gradient.
using UnaryFunctions = decltype(Activations() + FunctionList<Sqrt, Square>());

/// All operators that compute each element of their output from the elements of their inputs at the same
/// index, and from no attribute.
using ElementOperators = decltype(operators_of(UnaryFunctions()) +
                                  FunctionList<Subtract, Multiply, Divide, DivisorGradient,
                                               CrossEntropyWithLogits, CrossEntropyWithLogitsGradient>());

}  // namespace dtrain::kernels
