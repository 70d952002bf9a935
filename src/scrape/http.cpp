// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "scrape/http.hpp"

#include <exception>

#include <fmt/format.h>

namespace dtrain::scrape {
namespace {

constexpr std::string_view path_of_metrics = "/metrics";

struct Response {
    std::string_view status = "200 OK";
    std::string body;
    std::string_view type = "text/plain; charset=utf-8";
    std::string_view more_headers = {};
};

std::string written(const Response& response, bool with_body) {
    return fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}Connection: close\r\n\r\n{}",
        response.status, response.type, response.body.size(), response.more_headers,
        with_body ? response.body : "");
}

struct RequestLine {
    std::string_view method;
    std::string_view path;
};

std::optional<RequestLine> parse_request_line(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto first = line.find(' ');
    const auto last = line.rfind(' ');
    if (first == 0 || first == std::string_view::npos || last == first ||
        !line.substr(last + 1).starts_with("HTTP/1."))
        return std::nullopt;
    const auto target = line.substr(first + 1, last - first - 1);
    return RequestLine{line.substr(0, first), target.substr(0, target.find('?'))};
}

Response metrics(const std::function<std::string()>& text) {
    try {
        return {.body = text(), .type = "text/plain; version=0.0.4; charset=utf-8"};
    } catch (const std::exception& failed) {
        return {.status = "500 Internal Server Error", .body = fmt::format("{}\n", failed.what())};
    }
}

bool is_complete(std::string_view received) {
    return received.find("\r\n\r\n") != std::string_view::npos ||
           received.find("\n\n") != std::string_view::npos;
}

}  // namespace

std::optional<std::string> answer_to(std::string_view received, const std::function<std::string()>& text) {
    if (!is_complete(received)) {
        if (received.size() < max_request) return std::nullopt;
        return written({.status = "431 Request Header Fields Too Large"}, true);
    }
    const auto request = parse_request_line(received.substr(0, received.find('\n')));
    if (!request) return written({.status = "400 Bad Request"}, true);
    const bool is_head = request->method == "HEAD";
    if (!is_head && request->method != "GET")
        return written({.status = "405 Method Not Allowed", .more_headers = "Allow: GET, HEAD\r\n"}, true);
    if (request->path != path_of_metrics)
        return written({.status = "404 Not Found", .body = fmt::format("see {}\n", path_of_metrics)},
                       !is_head);
    return written(metrics(text), !is_head);
}

}  // namespace dtrain::scrape
