// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/optimizer.hpp>

namespace dtrain::program {

/// Data variable, float32 [1]: the learning rate of the next step.
inline constexpr const char* fed_rate = "learning_rate";

/// Like minimize() without a schedule, but the learning rate is fed instead of being the optimizer's own.
/// @throws ProgramError as minimize(), and if the program already has a variable of that name
void minimize_at_fed_rate(Program& program, const std::string& loss, const Optimizer& optimizer,
                          const OptimizerOptions& options);

}  // namespace dtrain::program
