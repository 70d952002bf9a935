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

struct ConstantRate {
    double learning_rate = 0.01;
};

/// learning_rate * decay_rate^(t / decay_steps); the exponent is rounded down if `staircase` is set.
struct ExponentialDecay {
    double learning_rate = 0.01;
    double decay_steps = 1000;
    double decay_rate = 0.9;
    bool staircase = false;
};

/// learning_rate * exp(-decay_rate * t / decay_steps); t / decay_steps is rounded down if `staircase` is set.
struct NaturalExpDecay {
    double learning_rate = 0.01;
    double decay_steps = 1000;
    double decay_rate = 0.1;
    bool staircase = false;
};

/// learning_rate / (1 + decay_rate * t / decay_steps); t / decay_steps is rounded down if `staircase` is set.
struct InverseTimeDecay {
    double learning_rate = 0.01;
    double decay_steps = 1000;
    double decay_rate = 0.1;
    bool staircase = false;
};

/// (learning_rate - end) * (1 - t / decay_steps)^power + end with t limited to decay_steps; with `cycle`
/// decay_steps instead grows to its next multiple whenever t exceeds it.
struct PolynomialDecay {
    double learning_rate = 0.01;
    double decay_steps = 1000;
    double end = 0.0001;
    double power = 1;
    bool cycle = false;
};

/// values[i] while t < boundaries[i], then the last value: there is one more value than boundaries.
struct PiecewiseRate {
    std::vector<std::int64_t> boundaries = {};
    std::vector<double> values = {};
};

/// learning_rate * (cos(pi * epoch / epochs) + 1) / 2 with epoch = t / steps_per_epoch, rounded down. After
/// Loshchilov and Hutter, ICLR 2017, equation 5, without restarts.
struct CosineDecay {
    double learning_rate = 0.01;
    std::int64_t steps_per_epoch = 1;
    std::int64_t epochs = 1;
};

/// learning_rate * d_model^-0.5 * min(n^-0.5, n * warmup_steps^-1.5) with n = t + 1. Vaswani et al., NIPS
/// 2017, equation 3.
struct NoamDecay {
    double learning_rate = 1;
    std::int64_t d_model = 512;
    std::int64_t warmup_steps = 4000;
};

using Decay = std::variant<ConstantRate, ExponentialDecay, NaturalExpDecay, InverseTimeDecay, PolynomialDecay,
                           PiecewiseRate, CosineDecay, NoamDecay>;

/// start + (end - start) * t / steps while t < steps.
struct LinearWarmup {
    std::int64_t steps = 1;
    double start = 0;
    double end = 0.01;
};

struct LearningRateSchedule {
    Decay decay = ConstantRate{};
    std::optional<LinearWarmup> warmup = {};  ///< overrides the decay's value in the first steps
};

/// Appends the operators of the schedule and the counter `learning_rate.step` (int64 [1], optimizer state).
/// Returns the variable that holds the rate, float32 [1], which can be fetched.
/// @throws ProgramError if a setting is out of range or the program already has a schedule
std::string append_learning_rate(Program& program, const LearningRateSchedule& schedule);

}  // namespace dtrain
