// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

/// How long the ends of a link wait for each other.
namespace dtrain::link {

/// For the proof of the key and who it is, from the connection's begin; a busy machine included.
inline constexpr std::chrono::milliseconds time_to_prove{5'000};
inline constexpr std::chrono::milliseconds between_heartbeats{2'000};
/// Then the other side is lost. The kernel notices dead machines long before.
inline constexpr std::chrono::milliseconds max_silence{60'000};

}  // namespace dtrain::link
