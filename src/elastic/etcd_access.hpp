// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

#include "elastic/http.hpp"

namespace dtrain::elastic {

/// How to reach an etcd cluster.
struct EtcdAccess {
    std::vector<std::string> endpoints;  ///< "http://10.0.0.1:2379", members of one cluster
    std::string user;                    ///< "": no authentication
    std::string password;
    TlsFiles tls;
    friend bool operator==(const EtcdAccess&, const EtcdAccess&) = default;
};

/// Parses endpoints from an option: "host:port", "http://host:port" or "https://host:port", separated by
/// commas; the default port is 2379. User and files come from etcdctl's own variables: ETCDCTL_USER ("name"
/// or "name:password"), ETCDCTL_PASSWORD, ETCDCTL_CACERT, ETCDCTL_CERT, ETCDCTL_KEY. If a certificate
/// variable is set, "host:port" means https.
/// @param option "--elastic_server", for messages
/// @throws UsageError naming the option or the variable.
EtcdAccess etcd_access(std::string_view option, std::string_view servers, const Environment& environment);

}  // namespace dtrain::elastic
