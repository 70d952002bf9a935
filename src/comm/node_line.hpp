// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <dtrain/environment.hpp>

namespace dtrain::comm {

/// "dtrain: TEXT" on stderr, by one rank of each node, where all say the same; by each that no launcher or
/// mpi_world() has given its number yet.
void first_of_node_reports(std::string_view text, const Environment& environment);

}  // namespace dtrain::comm
