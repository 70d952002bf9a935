// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/server_error.hpp"

#include <fmt/format.h>

namespace dtrain::ps {

ServerError::ServerError(int server, const std::string& why)
    : Error(fmt::format("parameter server {}: {}", server, why)), server_(server) {}

}  // namespace dtrain::ps
