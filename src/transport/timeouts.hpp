// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

/// Timeouts of a link.
namespace dtrain::transport {

/// From connecting until the other side has proven the key and sent its join request; allows for a busy
/// machine.
inline constexpr std::chrono::milliseconds authentication_timeout{5'000};
inline constexpr std::chrono::milliseconds between_heartbeats{2'000};
/// Without data for this long, the other side counts as lost. The kernel detects dead machines much earlier.
inline constexpr std::chrono::milliseconds max_silence{60'000};

}  // namespace dtrain::transport
