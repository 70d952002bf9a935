// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/interfaces.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <bit>
#include <cstdint>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/host.hpp"

namespace dtrain {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

std::string text_of(const sockaddr& address) {
    char text[INET6_ADDRSTRLEN] = {};
    if (address.sa_family == AF_INET)
        ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
    else if (address.sa_family == AF_INET6)
        ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text, sizeof text);
    return text;
}

/// @param take called with the interface and its address as text
template <class Take>
void for_each_address(const Take& take) {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
    for (const auto* each = list; each != nullptr; each = each->ifa_next)
        if (each->ifa_addr != nullptr)
            if (auto address = text_of(*each->ifa_addr); !address.empty()) take(*each, std::move(address));
}

int ones_in(const sockaddr& mask) {
    int ones = 0;
    if (mask.sa_family == AF_INET)
        ones = std::popcount(reinterpret_cast<const sockaddr_in&>(mask).sin_addr.s_addr);
    else if (mask.sa_family == AF_INET6)
        for (const auto byte : reinterpret_cast<const sockaddr_in6&>(mask).sin6_addr.s6_addr)
            ones += std::popcount(static_cast<unsigned>(byte));
    return ones;
}

AddressList look_up(const std::string& host) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) found = nullptr;
    return {found, ::freeaddrinfo};
}

/// In host byte order; nothing if the text is not an IPv4 address.
std::optional<std::uint32_t> ipv4(const std::string& text) {
    in_addr address{};
    if (::inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
    return ntohl(address.s_addr);
}

}  // namespace

std::vector<Interface> interfaces() {
    std::vector<Interface> out;
    for_each_address([&](const ifaddrs& each, std::string address) {
        if (each.ifa_netmask == nullptr || (each.ifa_flags & IFF_UP) == 0) return;
        out.push_back({.name = each.ifa_name,
                       .address = std::move(address),
                       .prefix = ones_in(*each.ifa_netmask),
                       .loopback = (each.ifa_flags & IFF_LOOPBACK) != 0});
    });
    return out;
}

std::set<std::string> own_addresses() {
    std::set<std::string> out{"localhost", "127.0.0.1", "::1", host_name()};
    for_each_address([&](const ifaddrs&, std::string address) { out.insert(std::move(address)); });
    return out;
}

std::vector<std::string> addresses_of(const std::string& host) {
    std::vector<std::string> out;
    const auto list = look_up(host);
    for (const auto* each = list.get(); each != nullptr; each = each->ai_next)
        out.push_back(text_of(*each->ai_addr));
    return out;
}

std::optional<std::string> own_address_towards(const std::string& host) {
    const auto list = look_up(host);
    for (const auto* each = list.get(); each != nullptr; each = each->ai_next) {
        // Connecting a datagram socket looks up the route and sends nothing.
        const FileDescriptor socket(::socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        if (!socket.valid() || ::connect(socket.get(), each->ai_addr, each->ai_addrlen) != 0) continue;
        sockaddr_storage own{};
        socklen_t size = sizeof own;
        if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0)
            return text_of(reinterpret_cast<const sockaddr&>(own));
    }
    return std::nullopt;
}

std::optional<Interface> interface_with(const std::vector<Interface>& interfaces,
                                        const std::string& address) {
    const auto found = std::find_if(interfaces.begin(), interfaces.end(),
                                    [&](const Interface& each) { return each.address == address; });
    return found == interfaces.end() ? std::nullopt : std::optional(*found);
}

std::optional<std::string> network_of_all(const Interface& interface,
                                          const std::vector<std::string>& addresses) {
    const auto own = ipv4(interface.address);
    if (!own || interface.prefix <= 0 || interface.prefix > 32) return std::nullopt;
    const auto mask = ~std::uint32_t{0} << (32 - interface.prefix);
    for (const auto& each : addresses) {
        const auto address = ipv4(each);
        if (!address || (*address & mask) != (*own & mask)) return std::nullopt;
    }
    const in_addr network{htonl(*own & mask)};
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &network, text, sizeof text);
    return fmt::format("{}/{}", text, interface.prefix);
}

}  // namespace dtrain
