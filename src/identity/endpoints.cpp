// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "identity/endpoints.hpp"

#include <cstdint>
#include <map>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/ports.hpp"
#include "identity/address.hpp"

namespace dtrain::cluster {
namespace {

/// FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/): the ranks compute it on different machines, where
/// std::hash may differ.
std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3;
    }
    return hash;
}

}  // namespace

int base_port(std::string_view job_id, int count) {
    if (count < 0 || count > job_ports / 2)
        throw UsageError(fmt::format("{} ports on a node are not in 0..{}; start fewer ranks on a node",
                                     count, job_ports / 2));
    const std::uint64_t hash = fnv1a(job_id);
    // The upper half is best mixed with the last characters, by which job numbers differ.
    return lowest_job_port +
           static_cast<int>((hash ^ (hash >> 32)) % static_cast<std::uint64_t>(job_ports - count));
}

Endpoints consecutive_endpoints(const std::vector<std::string>& hosts, const std::vector<int>& ranks_of_node,
                                int first_port) {
    if (hosts.empty() || hosts.size() != ranks_of_node.size())
        throw UsageError(fmt::format("{} hosts with {} numbers of ranks; name every node of the job once",
                                     hosts.size(), ranks_of_node.size()));
    Endpoints out;
    std::map<std::string, int> used;  // one host may be several nodes
    for (std::size_t node = 0; node < hosts.size(); ++node)
        for (int local = 0; local < ranks_of_node[node]; ++local)
            out.trainers.push_back(format_address(hosts[node], first_port + used[hosts[node]]++));
    const int after_ranks = first_port + used[hosts.front()];
    out.paddle_master = format_address(hosts.front(), after_ranks);
    out.master_addr = hosts.front();
    out.master_port = after_ranks + 1;
    // Checks the port; torch gets address and port separately.
    format_address(out.master_addr, out.master_port);
    return out;
}

}  // namespace dtrain::cluster
