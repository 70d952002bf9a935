// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "identity/address.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/host_name.hpp"

namespace dtrain::cluster {
namespace {

constexpr int highest_port = 65535;

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
    throw UsageError(fmt::format("\"{}\" is no address: {}; write HOST or HOST:PORT", text, why));
}

}  // namespace

Address parse_address(std::string_view text) {
    const auto whole = trimmed(text);
    auto host = whole;
    std::string_view port;
    bool has_port = false;
    const bool bracketed = whole.starts_with('[');
    if (bracketed) {
        const auto close = whole.find(']');
        if (close == std::string_view::npos) refuse(text, "the bracket is not closed");
        host = whole.substr(1, close - 1);
        const auto rest = whole.substr(close + 1);
        if (!rest.empty() && rest.front() != ':') refuse(text, "behind the bracket comes a port");
        has_port = !rest.empty();
        port = has_port ? rest.substr(1) : rest;
    } else if (const auto colon = whole.find(':');
               colon != std::string_view::npos && colon == whole.rfind(':')) {
        host = whole.substr(0, colon);
        port = whole.substr(colon + 1);
        has_port = true;
    }
    if (host.empty()) refuse(text, "it has no host");
    if (bracketed && !is_ipv6_address(host)) refuse(text, "brackets are for IPv6 addresses");
    if (!is_host(host))
        refuse(text,
               "a host is an IPv4 or IPv6 address, or a name of letters, digits, dots and dashes that begins "
               "with a letter or digit");
    Address out{.host = std::string(host)};
    if (has_port) {
        out.port = parse_int(port);
        if (!out.port || *out.port < 1 || *out.port > highest_port)
            refuse(text, fmt::format("\"{}\" is no port in 1..{}", port, highest_port));
    }
    return out;
}

Address parse_address_of(std::string_view option, std::string_view list, std::string_view part) {
    try {
        return parse_address(part);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{} {}: {}", option, list.empty() ? "\"\"" : list, error.what()));
    }
}

std::string format_address(const std::string& host, int port) {
    if (port < 1 || port > highest_port)
        throw UsageError(fmt::format("port {} on {} is not in 1..{}; choose a lower first port", port, host,
                                     highest_port));
    const bool bare_ipv6 = host.find(':') != std::string::npos && host.front() != '[';
    return bare_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

int port_of(const std::string& endpoint) {
    const auto address = parse_address(endpoint);
    if (!address.port) throw UsageError(fmt::format("\"{}\" is no address of the form host:port", endpoint));
    return *address.port;
}

}  // namespace dtrain::cluster
