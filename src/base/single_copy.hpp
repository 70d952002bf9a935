// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/environment.hpp>

namespace dtrain {

/// Whether a process may read another's memory by process_vm_readv(), as far as a filter of system calls
/// decides: containers may have one.
bool may_read_processes();

/// Variable of Open MPI 4.1: how a long message between ranks of a node is copied.
inline constexpr const char* single_copy_variable = "OMPI_MCA_btl_vader_single_copy_mechanism";

/// Its value for ranks that may not read each other's memory: Open MPI 4.1 tries it nevertheless for each
/// message, and prints "Read -1, expected 100000, errno = 1" (open-mpi/ompi#4948). None if they may, or if
/// the user has set one. Pure.
std::optional<std::string> single_copy_mechanism(const Environment& environment, bool may_read);

}  // namespace dtrain
