// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/host.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <memory>
#include <netinet/in.h>
#include <unistd.h>

namespace dtrain {
namespace {

std::string address_text(const sockaddr& address) {
    char text[INET6_ADDRSTRLEN] = {};
    const void* bytes = nullptr;
    if (address.sa_family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    if (address.sa_family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (bytes != nullptr) ::inet_ntop(address.sa_family, bytes, text, sizeof text);
    return text;
}

}  // namespace

std::string host_name() {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return name;
}

std::set<std::string> own_addresses() {
    std::set<std::string> out{"localhost", "127.0.0.1", "::1", host_name()};
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return out;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
    for (const auto* each = list; each != nullptr; each = each->ifa_next)
        if (each->ifa_addr != nullptr)
            if (auto text = address_text(*each->ifa_addr); !text.empty()) out.insert(std::move(text));
    return out;
}

}  // namespace dtrain
