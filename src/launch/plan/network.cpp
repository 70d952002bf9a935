// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/network.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/mpi_start.hpp"

namespace dtrain::launch {
namespace {

std::set<std::string> names_of(const std::vector<Interface>& interfaces) {
    std::set<std::string> names;
    for (const auto& each : interfaces)
        if (!each.loopback) names.insert(each.name);
    return names;
}

/// Several launchers on one machine are nodes, too.
bool are_one_machine(const std::vector<std::string>& hosts) {
    return std::set(hosts.begin(), hosts.end()).size() < 2;
}

std::vector<std::string> addresses_of_all(const std::vector<std::string>& hosts,
                                          const NetworkQuestions& machine) {
    std::vector<std::string> out;
    for (const auto& host : hosts) {
        const auto addresses = machine.addresses_of(host);
        out.push_back(addresses.empty() ? host : addresses.front());
    }
    return out;
}

/// Every address of the named interface, or the one that leads to the other nodes.
std::vector<Interface> candidates(const std::vector<std::string>& hosts,
                                  const std::optional<std::string>& named, const NetworkQuestions& machine) {
    std::vector<Interface> out;
    if (named) {
        std::copy_if(machine.interfaces.begin(), machine.interfaces.end(), std::back_inserter(out),
                     [&](const Interface& each) { return each.name == *named; });
        return out;
    }
    for (const auto& host : hosts) {
        const auto own = machine.own_address_towards(host);
        const auto found = own ? interface_with(machine.interfaces, *own) : std::nullopt;
        if (found && !found->loopback) return {*found};
    }
    return out;
}

}  // namespace

NetworkQuestions NetworkQuestions::of_this_machine() {
    return {.interfaces = dtrain::interfaces(),
            .addresses_of =
                [known = std::map<std::string, std::vector<std::string>>()](const std::string& host) mutable {
                    const auto [entry, is_new] = known.try_emplace(host);
                    if (is_new) entry->second = dtrain::addresses_of(host);
                    return entry->second;
                },
            .own_address_towards = dtrain::own_address_towards};
}

void check_network_interface(const std::string& name, const std::vector<Interface>& interfaces) {
    const auto names = names_of(interfaces);
    if (!names.contains(name))
        throw UsageError(fmt::format("--network_interface {}: this machine has no such interface; it has {}",
                                     name,
                                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

Environment mpi_network_variables(const std::vector<std::string>& hosts,
                                  const std::optional<std::string>& named, const Environment& environment,
                                  const NetworkQuestions& machine) {
    Environment out;
    if (are_one_machine(hosts) || (!named && names_of(machine.interfaces).size() < 2)) return out;
    const auto addresses = addresses_of_all(hosts, machine);
    for (const auto& interface : candidates(hosts, named, machine)) {
        const auto network = network_of_all(interface, addresses);
        if (!network) continue;
        constexpr std::array names{"OMPI_MCA_oob_tcp_if_include", "OMPI_MCA_btl_tcp_if_include",
                                   "PRTE_MCA_prte_if_include"};
        const auto excluded = [&](std::string name) {  // Open MPI refuses include and exclude lists together
            return environment.has(name.replace(name.find("include"), 7, "exclude"));
        };
        for (const char* name : names)
            if (!environment.has(name) && !excluded(name)) out.set(name, *network);
        break;
    }
    return out;
}

Environment mpi_address_family(const std::vector<std::string>& hosts, const Environment& environment,
                               const NetworkQuestions& machine) {
    const auto is_ipv4 = [](const std::string& address) { return address.find(':') == std::string::npos; };
    const auto has_ipv4 = [&](const std::string& host) {
        const auto addresses = machine.addresses_of(host);
        return std::any_of(addresses.begin(), addresses.end(), is_ipv4);
    };
    if (environment.has(tcp_family_variable) ||
        !(are_one_machine(hosts) || std::all_of(hosts.begin(), hosts.end(), has_ipv4)))
        return {};
    return {{tcp_family_variable, "6"}};
}

}  // namespace dtrain::launch
