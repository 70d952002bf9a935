// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/optimizer.hpp>

namespace dtrain::program {

/// A gradient in the form that an update reads.
struct UpdateGradient {
    std::string parameter;
    std::string gradient;
    std::string rows;  ///< variable with its row numbers; "" for a dense gradient
};

/// Appends the operators that clip gradients; their results replace the gradients.
void clip(Program& program, const Clipping& clipping, std::vector<UpdateGradient>& gradients);

/// Appends the operators that add the regularisation terms; their results replace the gradients.
void regularise(Program& program, const OptimizerOptions& options, std::vector<UpdateGradient>& gradients);

}  // namespace dtrain::program
