// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <dtrain/learning_rate.hpp>
#include <dtrain/program.hpp>

namespace dtrain {

struct ParameterGradient {
    std::string parameter = {};
    std::string gradient = {};
    friend bool operator==(const ParameterGradient&, const ParameterGradient&) = default;
};

/// The name of a variable's gradient: `NAME@grad`.
std::string gradient_name(const std::string& variable);

/// The name of the variable that says which rows of a parameter a sparse gradient is for (int64, as many as
/// the gradient has rows): GRADIENT.rows. Its rows are sorted, and -1 fills the end, where the gradient has
/// zeros. The gradient is sparse when the program has this variable.
std::string gradient_rows_name(const std::string& gradient);

/// Appends the operators that make the gradient of `loss` ([1]) by every parameter that it depends on.
/// Returns parameters and gradients in the order in which the operators make them: last layer first.
/// @throws ProgramError when `loss` is unknown, is not [1] of real numbers or depends on no parameter.
std::vector<ParameterGradient> append_backward(Program& program, const std::string& loss);

/// p -= lr g
struct Sgd {
    double learning_rate = 0.01;
};

/// v = mu v + g; p -= lr v, or lr (g + mu v) with Nesterov's momentum (Sutskever et al., ICML 2013, in the
/// form in which frameworks have it).
struct Momentum {
    double learning_rate = 0.01;
    double mu = 0.9;
    bool nesterov = false;
};

/// s += g^2; p -= lr g / (sqrt(s) + epsilon): Duchi, Hazan and Singer, JMLR 2011.
struct Adagrad {
    double learning_rate = 0.01;
    double epsilon = 1e-6;
    double initial = 0;  ///< of s
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

/// Adam, after p -= lr weight_decay p: Loshchilov and Hutter, ICLR 2019, algorithm 2, whose schedule is lr.
struct AdamW {
    double learning_rate = 0.001;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0.01;
    std::vector<std::string> without_decay = {};  ///< parameters that do not decay, biases for instance
};

/// FTRL-Proximal: McMahan et al., KDD 2013, algorithm 1, with alpha = lr:
/// sigma = (sqrt(n + g^2) - sqrt(n)) / lr, z += g - sigma p, n += g^2,
/// p = 0 where |z| <= l1, else -(z - sign(z) l1) / ((beta + sqrt(n)) / lr + l2).
/// The first update replaces a parameter's initial value.
struct Ftrl {
    double learning_rate = 0.1;
    double beta = 1;
    double l1 = 0;
    double l2 = 0;
};

using Optimizer = std::variant<Sgd, Momentum, Adam, Adagrad, AdamW, Ftrl>;

struct NoDecay {};

/// g += coefficient sign(p)
struct L1Decay {
    double coefficient = 0;
};

/// g += coefficient p
struct L2Decay {
    double coefficient = 0;
};

using Regularisation = std::variant<NoDecay, L1Decay, L2Decay>;

struct NoClipping {};

/// Every element of a gradient is at least `min` and at most `max`.
struct ClipByValue {
    double min = -1;
    double max = 1;
};

/// Each gradient whose Euclidean norm is larger is scaled down to `norm`.
struct ClipByNorm {
    double norm = 1;
};

/// All gradients are scaled down together when their common Euclidean norm is larger than `norm`.
struct ClipByGlobalNorm {
    double norm = 1;
};

using Clipping = std::variant<NoClipping, ClipByValue, ClipByNorm, ClipByGlobalNorm>;

struct OptimizerOptions {
    /// Replaces the optimizer's own learning_rate.
    std::optional<LearningRateSchedule> schedule = {};
    /// Clipping comes first, so the decay's term is not clipped. In a data parallel program both work on the
    /// averaged gradients.
    Clipping clipping = NoClipping{};
    Regularisation regularisation = NoDecay{};
    /// By parameter: what it has instead of `regularisation`.
    std::map<std::string, Regularisation, std::less<>> regularisation_of = {};
};

/// Appends the state variables (zero at first; Adam's shared int64 step counter is `adam.step`) and update
/// operators of the optimizer, in the order of `gradients`. With a sparse gradient an update changes the
/// gradient's rows alone, of the parameter and of its state.
/// @throws ProgramError when a setting is out of range or names an unknown parameter.
void append_optimizer(Program& program, const Optimizer& optimizer,
                      std::span<const ParameterGradient> gradients, const OptimizerOptions& options = {});

/// append_backward() and append_optimizer().
std::vector<ParameterGradient> minimize(Program& program, const std::string& loss, const Optimizer& optimizer,
                                        const OptimizerOptions& options = {});

}  // namespace dtrain
