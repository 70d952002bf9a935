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
    int prefix = 0;  ///< bits of the network in the address
    bool loopback = false;
    friend bool operator==(const Interface&, const Interface&) = default;
};

std::vector<Interface> interfaces();

/// Every name and address of this machine: its interfaces' IPv4 and IPv6 addresses, also of those that are
/// down, host_name(), "localhost".
std::set<std::string> own_addresses();

/// The addresses of a host, numbers as they are; empty when nobody knows it.
std::vector<std::string> addresses_of(const std::string& host);

/// The address with which this machine would talk to `host`, as the kernel's routes have it; nothing without
/// a route. Nothing is sent but questions for the name.
std::optional<std::string> own_address_towards(const std::string& host);

/// The interface that has `address`. Pure.
std::optional<Interface> interface_with(const std::vector<Interface>& interfaces, const std::string& address);

/// "10.77.0.0/24": the IPv4 network of `interface`, when all of `addresses` lie in it. Pure.
std::optional<std::string> network_of_all(const Interface& interface,
                                          const std::vector<std::string>& addresses);

}  // namespace dtrain
