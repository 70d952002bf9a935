// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <dtrain/parameter_servers.hpp>

#include "ps/server/server.hpp"

namespace dtrain::ps {

/// The counts of one server.
ServerCounts counts_of(const Server& server);

/// As JSON.
std::string to_text(const ServerCounts& counts);

/// The sum over all servers. @param texts from to_text() @throws Error if one is invalid
ServerCounts sum_of(std::span<const std::string> texts);

}  // namespace dtrain::ps
