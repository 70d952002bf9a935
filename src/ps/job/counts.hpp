// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <dtrain/parameter_servers.hpp>

#include "ps/server/server.hpp"

namespace dtrain::ps {

/// Of one server.
ServerCounts counts_of(const Server& server);

/// As JSON.
std::string to_text(const ServerCounts& counts);

/// Of all servers together. @param texts as to_text() @throws Error when one is none
ServerCounts sum_of(std::span<const std::string> texts);

}  // namespace dtrain::ps
