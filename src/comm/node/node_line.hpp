// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <dtrain/environment.hpp>

namespace dtrain::comm {

/// Prints "dtrain: TEXT" on stderr, on one rank of each node, for messages that are the same on all ranks; on
/// every rank whose local rank is not yet known from a launcher or mpi_world().
void report_once_per_node(std::string_view text, const Environment& environment);

}  // namespace dtrain::comm
