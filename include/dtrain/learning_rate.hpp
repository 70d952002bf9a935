// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <dtrain/program.hpp>

/// Learning-rate schedules. They are operators of the program that read a counter in its State, so a resumed
/// run continues exactly where it stopped. In the formulas t is the number of completed steps: 0 in the first
/// step.
namespace dtrain {

/// learning_rate in every step.
struct ConstantRate {
    double learning_rate = 0.01;  ///< of every step
};

/// learning_rate * decay_rate^(t / decay_steps); the exponent is rounded down if `staircase` is set.
struct ExponentialDecay {
    double learning_rate = 0.01;  ///< at the start
    double decay_steps = 1000;    ///< steps in which the rate is multiplied by decay_rate
    double decay_rate = 0.9;      ///< factor after decay_steps
    bool staircase = false;       ///< true: the rate changes only every decay_steps
};

/// learning_rate * exp(-decay_rate * t / decay_steps); t / decay_steps is rounded down if `staircase` is set.
struct NaturalExpDecay {
    double learning_rate = 0.01;  ///< at the start
    double decay_steps = 1000;    ///< steps of one unit of decay
    double decay_rate = 0.1;      ///< exponent after decay_steps
    bool staircase = false;       ///< true: the rate changes only every decay_steps
};

/// learning_rate / (1 + decay_rate * t / decay_steps); t / decay_steps is rounded down if `staircase` is set.
struct InverseTimeDecay {
    double learning_rate = 0.01;  ///< at the start
    double decay_steps = 1000;    ///< steps of one unit of decay
    double decay_rate = 0.1;      ///< growth of the denominator after decay_steps
    bool staircase = false;       ///< true: the rate changes only every decay_steps
};

/// (learning_rate - end) * (1 - t / decay_steps)^power + end with t limited to decay_steps; with `cycle`
/// decay_steps instead grows to its next multiple whenever t exceeds it.
struct PolynomialDecay {
    double learning_rate = 0.01;  ///< at the start
    double decay_steps = 1000;    ///< steps until the end is reached
    double end = 0.0001;          ///< the last rate
    double power = 1;             ///< of the polynomial
    bool cycle = false;           ///< true: decay_steps grows whenever t exceeds it
};

/// values[i] while t < boundaries[i], then the last value: there is one more value than boundaries.
struct PiecewiseRate {
    std::vector<std::int64_t> boundaries = {};  ///< steps at which the rate changes, ascending
    std::vector<double> values = {};            ///< rates before, between and after the boundaries
};

/// learning_rate * (cos(pi * epoch / epochs) + 1) / 2 with epoch = t / steps_per_epoch, rounded down. After
/// Loshchilov and Hutter, ICLR 2017, equation 5, without restarts.
struct CosineDecay {
    double learning_rate = 0.01;       ///< at the start
    std::int64_t steps_per_epoch = 1;  ///< how many steps an epoch has
    std::int64_t epochs = 1;           ///< epochs until the rate is 0
};

/// learning_rate * d_model^-0.5 * min(n^-0.5, n * warmup_steps^-1.5) with n = t + 1. Vaswani et al., NIPS
/// 2017, equation 3.
struct NoamDecay {
    double learning_rate = 1;          ///< factor of the whole formula
    std::int64_t d_model = 512;        ///< width of the model
    std::int64_t warmup_steps = 4000;  ///< steps in which the rate grows
};

/// How the rate depends on the step.
using Decay = std::variant<ConstantRate, ExponentialDecay, NaturalExpDecay, InverseTimeDecay, PolynomialDecay,
                           PiecewiseRate, CosineDecay, NoamDecay>;

/// start + (end - start) * t / steps while t < steps.
struct LinearWarmup {
    std::int64_t steps = 1;  ///< how many steps it takes
    double start = 0;        ///< rate of the first step
    double end = 0.01;       ///< rate that it leads to
};

/// A decay, and how the first steps lead to it.
struct LearningRateSchedule {
    Decay decay = ConstantRate{};             ///< formula of the rate
    std::optional<LinearWarmup> warmup = {};  ///< overrides the decay's value in the first steps
};

/// Appends the operators of the schedule and the counter `learning_rate.step` (int64 [1], optimizer state).
/// Returns the variable that holds the rate, float32 [1], which can be fetched.
/// @throws ProgramError if a setting is out of range or the program already has a schedule
std::string append_learning_rate(Program& program, const LearningRateSchedule& schedule);

}  // namespace dtrain
