// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain {

/// Exit statuses that the tools share.
inline constexpr int status_failed = 1;
inline constexpr int status_usage = 2;

}  // namespace dtrain
