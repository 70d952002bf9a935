// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// The part of HTTP/1.1 (RFC 9112) that Prometheus needs: one request per connection. Pure.
namespace dtrain::scrape {

inline constexpr std::size_t max_request = 8192;

/// The answer to a request for /metrics; errors for all other requests.
/// @param received the data received so far
/// @param text returns the metrics; called only if they are requested
/// @return nothing while the request's header is incomplete
std::optional<std::string> answer_to(std::string_view received, const std::function<std::string()>& text);

}  // namespace dtrain::scrape
