// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/optimizer.hpp>

namespace dtrain::program {

/// A gradient as an update reads it.
struct UpdateGradient {
    std::string parameter;
    std::string gradient;
    std::string rows;  ///< "" for a dense one
};

/// Appends the operators that clip gradients; their results take the gradients' places.
void clip(Program& program, const Clipping& clipping, std::vector<UpdateGradient>& gradients);

/// Appends the operators that add the terms of the regularisation; their results take the gradients' places.
void regularise(Program& program, const OptimizerOptions& options, std::vector<UpdateGradient>& gradients);

}  // namespace dtrain::program
