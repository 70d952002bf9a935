// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include <dtrain/program.hpp>

namespace dtrain {

struct ParameterGradient {
    std::string parameter;
    std::string gradient;
    friend bool operator==(const ParameterGradient&, const ParameterGradient&) = default;
};

/// The name of a variable's gradient: NAME@grad.
std::string gradient_name(const std::string& variable);

/// Appends the operators that make the gradient of `loss` ([1]) by every parameter that it depends on.
/// Returns parameters and gradients in the order in which the operators make them: last layer first.
/// @throws ProgramError when `loss` is unknown, is not [1] of real numbers or depends on no parameter.
std::vector<ParameterGradient> append_backward(Program& program, const std::string& loss);

/// p -= lr g
struct Sgd {
    double learning_rate = 0.01;
};

/// v = mu v + g; p -= lr v
struct Momentum {
    double learning_rate = 0.01;
    double mu = 0.9;
};

/// Kingma and Ba, ICLR 2015, algorithm 1 in the form of the end of its section 2: with t = 1, 2, ...
/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
/// p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + epsilon sqrt(1 - beta2^t)).
/// (epsilon scaled so that it is algorithm 1's own, as Paddle and PyTorch have it).
struct Adam {
    double learning_rate = 0.001;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
};

using Optimizer = std::variant<Sgd, Momentum, Adam>;

/// Appends the state variables (zero at first; Adam's shared int64 step counter is `adam.step`) and update
/// operators of the optimizer, in the order of `gradients`.
/// @throws ProgramError when a setting is out of range.
void append_optimizer(Program& program, const Optimizer& optimizer,
                      std::span<const ParameterGradient> gradients);

/// append_backward() and append_optimizer().
std::vector<ParameterGradient> minimize(Program& program, const std::string& loss,
                                        const Optimizer& optimizer);

}  // namespace dtrain
