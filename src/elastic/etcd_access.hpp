// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

#include "elastic/http.hpp"

namespace dtrain::elastic {

/// How to get at an etcd.
struct EtcdAccess {
    std::vector<std::string> endpoints;  ///< "http://10.0.0.1:2379", members of one cluster
    std::string user;                    ///< "": without authentication
    std::string password;
    TlsFiles tls;
    friend bool operator==(const EtcdAccess&, const EtcdAccess&) = default;
};

/// Endpoints from an option: "host:port", "http://host:port" or "https://host:port", separated by commas;
/// without a port 2379. User and files come from etcdctl's own variables: ETCDCTL_USER ("name" or
/// "name:password"), ETCDCTL_PASSWORD, ETCDCTL_CACERT, ETCDCTL_CERT, ETCDCTL_KEY. With a certificate
/// variable, "host:port" means https.
/// @param option "--elastic_server", for messages
/// @throws UsageError naming the option or the variable.
EtcdAccess etcd_access(std::string_view option, std::string_view servers, const Environment& environment);

}  // namespace dtrain::elastic
