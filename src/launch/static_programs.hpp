// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "launch/compatibility.hpp"

namespace dtrain::launch {

/// What programs of Paddle's static graph and of fleet are written with, and what takes its place in C++.
/// Each name in a note is of the public headers, as tests/jobs/test_paddle_names.py finds out.
std::span<const PaddleFeature> static_program_features();

}  // namespace dtrain::launch
