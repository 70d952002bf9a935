// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "scrape/listen_address.hpp"

#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/listening.hpp"
#include "base/ports.hpp"
#include "base/text.hpp"

namespace dtrain::scrape {
namespace {

constexpr int highest_port = 65535;
constexpr int waiting_connections = 16;

/// The host, without the brackets around an IPv6 address; nothing if it is not valid before a port.
std::optional<std::string> host_of(std::string_view text) {
    if (text.starts_with('[') && text.ends_with(']')) {
        text = text.substr(1, text.size() - 2);
    } else if (text.find_first_of("[]:") != std::string_view::npos) {
        return std::nullopt;
    }
    if (text.empty() || text.find_first_of(" \t/") != std::string_view::npos) return std::nullopt;
    return std::string(text);
}

UsageError cannot_listen(std::string_view option, const ListenAddress& address, const std::string& why) {
    return UsageError(fmt::format("{} {}: {}", option, to_string(address), why));
}

}  // namespace

ListenAddress parse_listen_address(std::string_view option, std::string_view text) {
    ListenAddress out;
    const auto colon = text.rfind(':');
    const auto port = parse_int(std::string(colon == std::string_view::npos ? text : text.substr(colon + 1)));
    const auto host = colon == std::string_view::npos ? out.host : host_of(text.substr(0, colon));
    if (!port || *port < 0 || *port > highest_port || !host)
        throw UsageError(
            fmt::format("{} {}: it must be a port in 0..{} for this machine alone, or HOST:PORT, such as "
                        "9400 or 0.0.0.0:9400; 0 is any free port",
                        option, text.empty() ? "\"\"" : text, highest_port));
    return {.host = *host, .port = *port};
}

std::string to_string(const ListenAddress& address) {
    const bool is_ipv6 = address.host.find(':') != std::string::npos;
    return fmt::format("{0}{1}{2}:{3}", is_ipv6 ? "[" : "", address.host, is_ipv6 ? "]" : "", address.port);
}

FileDescriptor listen_at(const ListenAddress& address, std::string_view option) {
    if (address.port > highest_port)
        throw cannot_listen(option, address, fmt::format("it must be a port in 0..{}", highest_port));
    FileDescriptor socket;
    try {
        socket = listen_on(*resolved(address.host, address.port), waiting_connections);
    } catch (const UsageError& unknown) {
        throw cannot_listen(option, address, unknown.what());
    }
    if (socket.valid()) return socket;
    const int error = errno;
    const auto holder = error == EADDRINUSE ? holder_of_port(address.port) : "";
    throw cannot_listen(option, address,
                        fmt::format("{}{}; choose another port, or 0 for any free one", std::strerror(error),
                                    holder.empty() ? "" : ", held by " + holder));
}

}  // namespace dtrain::scrape
