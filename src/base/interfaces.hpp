// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

/// The networks of this machine.
namespace dtrain {

/// One address of an interface that is up.
struct Interface {
    std::string name;
    std::string address;
    int prefix = 0;  ///< prefix length of its network, in bits
    bool loopback = false;
    friend bool operator==(const Interface&, const Interface&) = default;
};

std::vector<Interface> interfaces();

/// All names and addresses of this machine: its interfaces' IPv4 and IPv6 addresses, including interfaces
/// that are down, host_name(), "localhost".
std::set<std::string> own_addresses();

/// The addresses of a host, or the host itself if it is an address; empty if it is unknown.
std::vector<std::string> addresses_of(const std::string& host);

/// The local address that this machine would use to reach `host`, according to the kernel's routes; nothing
/// if there is no route. Sends nothing except name lookups.
std::optional<std::string> own_address_towards(const std::string& host);

/// The interface that has `address`. Pure.
std::optional<Interface> interface_with(const std::vector<Interface>& interfaces, const std::string& address);

/// "10.77.0.0/24": the IPv4 network of `interface`, if all of `addresses` are in it. Pure.
std::optional<std::string> network_of_all(const Interface& interface,
                                          const std::vector<std::string>& addresses);

}  // namespace dtrain
