// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/etcd_access.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/address.hpp"

namespace dtrain::elastic {
namespace {

constexpr int etcds_port = 2379;

std::string endpoint(std::string_view option, std::string_view servers, std::string_view part, bool tls) {
    std::string scheme = tls ? "https://" : "http://";
    auto rest = trimmed(part);
    for (const std::string_view given : {"http://", "https://"})
        if (rest.starts_with(given)) {
            scheme = given;
            rest.remove_prefix(given.size());
        }
    if (rest.ends_with('/')) rest.remove_suffix(1);
    if (const auto user_end = rest.rfind('@'); user_end != std::string_view::npos)
        throw UsageError(
            fmt::format("{} ***@{}: an etcd's address has no user and password; ETCDCTL_USER and "
                        "ETCDCTL_PASSWORD tell them",
                        option, rest.substr(user_end + 1)));
    if (rest.find_first_of("/?#\"\\ ") != std::string_view::npos)
        throw UsageError(
            fmt::format("{} {}: \"{}\" is no host:port or https://host:port", option, servers, part));
    const auto address = cluster::parse_address_of(option, servers, rest);
    return scheme + cluster::format_address(address.host, address.port.value_or(etcds_port));
}

}  // namespace

EtcdAccess etcd_access(std::string_view option, std::string_view servers, const Environment& environment) {
    EtcdAccess out{.user = environment.get_or("ETCDCTL_USER", ""),
                   .password = environment.get_or("ETCDCTL_PASSWORD", ""),
                   .tls = {.authority = environment.get_or("ETCDCTL_CACERT", ""),
                           .certificate = environment.get_or("ETCDCTL_CERT", ""),
                           .key = environment.get_or("ETCDCTL_KEY", "")}};
    if (const auto colon = out.user.find(':'); colon != std::string::npos) {
        out.password = out.user.substr(colon + 1);
        out.user.resize(colon);
    }
    if (out.user.empty() && !out.password.empty())
        throw UsageError("ETCDCTL_PASSWORD is set without ETCDCTL_USER; set both or none");
    if (out.tls.certificate.empty() != out.tls.key.empty())
        throw UsageError("ETCDCTL_CERT and ETCDCTL_KEY belong together; set both or none");
    const bool tls = !out.tls.authority.empty() || !out.tls.certificate.empty();
    for (const auto& part : split(servers, ','))
        out.endpoints.push_back(endpoint(option, servers, part, tls));
    return out;
}

}  // namespace dtrain::elastic
