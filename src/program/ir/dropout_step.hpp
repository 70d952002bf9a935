// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dtrain::program {

/// The counter of updates from which dropout draws its random numbers. append_optimizer() increments it after
/// all gradients, so that all batches of one update see the same number.
inline constexpr std::string_view dropout_step = "dropout.step";

}  // namespace dtrain::program
