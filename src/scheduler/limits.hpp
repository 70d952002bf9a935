// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace dtrain::scheduler {

/// How long a scheduler's commands may take.
inline constexpr std::chrono::minutes submit_limit{1};
inline constexpr std::chrono::seconds queue_limit{20};

}  // namespace dtrain::scheduler
