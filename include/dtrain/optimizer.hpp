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

/// A parameter and the variable of its gradient.
struct ParameterGradient {
    std::string parameter = {};  ///< name of the parameter
    std::string gradient = {};   ///< name of its gradient
    friend bool operator==(const ParameterGradient&, const ParameterGradient&) = default;
};

/// The name of a variable's gradient: `NAME@grad`.
std::string gradient_name(const std::string& variable);

/// The name of the variable that says which rows of a parameter a sparse gradient belongs to (int64, one
/// entry per row of the gradient): GRADIENT.rows. The entries are sorted; -1 fills the end, where the
/// gradient is zero. A gradient is sparse if the program has this variable.
std::string gradient_rows_name(const std::string& gradient);

/// Appends the operators that compute the gradient of `loss` ([1]) with respect to every parameter that it
/// depends on. Returns parameters and gradients in the order in which the operators compute them: last layer
/// first.
/// @throws ProgramError if `loss` is unknown, is not [1] of real numbers or depends on no parameter.
std::vector<ParameterGradient> append_backward(Program& program, const std::string& loss);

/// p -= lr g
struct Sgd {
    double learning_rate = 0.01;  ///< lr
};

/// v = mu v + g; p -= lr v, or lr (g + mu v) with Nesterov's momentum (Sutskever et al., ICML 2013, in the
/// form that frameworks use).
struct Momentum {
    double learning_rate = 0.01;  ///< lr
    double mu = 0.9;              ///< of the velocity
    bool nesterov = false;        ///< whether the gradient is taken ahead of the step
};

/// s += g^2; p -= lr g / (sqrt(s) + epsilon): Duchi, Hazan and Singer, JMLR 2011.
struct Adagrad {
    double learning_rate = 0.01;  ///< lr
    double epsilon = 1e-6;        ///< keeps the denominator from 0
    double initial = 0;           ///< initial value of s
};

/// Kingma and Ba, ICLR 2015, algorithm 1 in the form given at the end of its section 2: with t = 1, 2, ...
///     m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
///     p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + epsilon sqrt(1 - beta2^t)).
/// epsilon is scaled so that it equals that of algorithm 1, as in Paddle and PyTorch.
struct Adam {
    double learning_rate = 0.001;  ///< lr
    double beta1 = 0.9;            ///< of the mean of gradients
    double beta2 = 0.999;          ///< of the mean of their squares
    double epsilon = 1e-8;         ///< keeps the denominator from 0
};

/// Adam after p -= lr weight_decay p: Loshchilov and Hutter, ICLR 2019, algorithm 2, with lr as its schedule.
struct AdamW {
    double learning_rate = 0.001;  ///< lr
    double beta1 = 0.9;            ///< of the mean of gradients
    double beta2 = 0.999;          ///< of the mean of their squares
    double epsilon = 1e-8;         ///< keeps the denominator from 0
    double weight_decay = 0.01;    ///< times lr, the fraction of a parameter that is removed per step
    std::vector<std::string> without_decay = {};  ///< parameters without weight decay, for example biases
};

/// FTRL-Proximal: McMahan et al., KDD 2013, algorithm 1, with alpha = lr:
/// sigma = (sqrt(n + g^2) - sqrt(n)) / lr, z += g - sigma p, n += g^2,
/// p = 0 where |z| <= l1, else -(z - sign(z) l1) / ((beta + sqrt(n)) / lr + l2).
/// The first update replaces a parameter's initial value.
struct Ftrl {
    double learning_rate = 0.1;  ///< alpha
    double beta = 1;             ///< of the per-coordinate rate
    double l1 = 0;               ///< strength of the l1 regularisation
    double l2 = 0;               ///< strength of the l2 regularisation
};

/// How parameters follow their gradients.
using Optimizer = std::variant<Sgd, Momentum, Adam, Adagrad, AdamW, Ftrl>;

struct NoDecay {};

/// g += coefficient sign(p)
struct L1Decay {
    double coefficient = 0;  ///< factor of the sign
};

/// g += coefficient p
struct L2Decay {
    double coefficient = 0;  ///< factor of the parameter
};

/// What is added to gradients so that parameters stay small.
using Regularisation = std::variant<NoDecay, L1Decay, L2Decay>;

struct NoClipping {};

/// Clips every element of a gradient to [min, max].
struct ClipByValue {
    double min = -1;  ///< lower limit
    double max = 1;   ///< upper limit
};

/// Scales each gradient whose Euclidean norm is larger than `norm` down to `norm`.
struct ClipByNorm {
    double norm = 1;  ///< upper limit of each gradient's norm
};

/// Scales all gradients down together if their common Euclidean norm is larger than `norm`.
struct ClipByGlobalNorm {
    double norm = 1;  ///< upper limit of the common norm
};

/// How gradients are limited.
using Clipping = std::variant<NoClipping, ClipByValue, ClipByNorm, ClipByGlobalNorm>;

/// What happens to rate and gradients before the update.
struct OptimizerOptions {
    /// Replaces the optimizer's own learning_rate.
    std::optional<LearningRateSchedule> schedule = {};
    /// Clipping is applied first, so the decay term is not clipped. In a data-parallel program both apply to
    /// the averaged gradients.
    Clipping clipping = NoClipping{};
    /// added to the gradients of all parameters except those in regularisation_of
    Regularisation regularisation = NoDecay{};
    /// By parameter: overrides `regularisation`.
    std::map<std::string, Regularisation, std::less<>> regularisation_of = {};
};

/// Appends the state variables (initially zero; Adam's shared int64 step counter is `adam.step`) and update
/// operators of the optimizer, in the order of `gradients`. With a sparse gradient an update changes only the
/// gradient's rows of the parameter and of its state.
/// @throws ProgramError if a setting is out of range or names an unknown parameter.
void append_optimizer(Program& program, const Optimizer& optimizer,
                      std::span<const ParameterGradient> gradients, const OptimizerOptions& options = {});

/// Calls append_backward() and append_optimizer().
std::vector<ParameterGradient> minimize(Program& program, const std::string& loss, const Optimizer& optimizer,
                                        const OptimizerOptions& options = {});

}  // namespace dtrain
