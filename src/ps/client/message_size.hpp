// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace dtrain::ps {

/// A push that reaches this size is sent before the step ends.
inline constexpr std::size_t full_message = 256 * std::size_t{1024};

/// Fewer rows do not justify a message, nor several threads on the server.
inline constexpr std::size_t min_message_rows = 2048;

/// Whether to send an open message before adding `more` bytes: it would become too long and already has a
/// reasonable size.
constexpr bool must_flush_before(std::size_t bytes, std::size_t more) {
    return bytes + more > full_message && bytes > full_message / 8;
}

}  // namespace dtrain::ps
