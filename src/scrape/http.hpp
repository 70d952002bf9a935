// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// As much of HTTP/1.1 (RFC 9112) as Prometheus asks for: one request on a connection. All of it is pure.
namespace dtrain::scrape {

inline constexpr std::size_t max_request = 8192;

/// The answer to a request for /metrics; errors for all others.
/// @param received what has come so far
/// @param text the metrics; asked only when they are wanted
/// @return nothing while the request's head is not complete
std::optional<std::string> answer_to(std::string_view received, const std::function<std::string()>& text);

}  // namespace dtrain::scrape
