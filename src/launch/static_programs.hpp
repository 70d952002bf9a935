// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "launch/compatibility.hpp"

namespace dtrain::launch {

/// The names used by programs of Paddle's static graph and of fleet, and their replacements in C++. Each name
/// in a note is in the public headers, which tests/jobs/test_paddle_names.py checks.
std::span<const PaddleFeature> static_program_features();

}  // namespace dtrain::launch
