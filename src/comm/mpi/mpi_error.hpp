// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <dtrain/communicator.hpp>

namespace dtrain::comm {

/// True if MPI is initialised and not yet finalised.
bool mpi_is_running();

/// @throws MpiError naming the operation unless `code` is MPI_SUCCESS
inline void check(int code, const char* operation) {
    if (code != MPI_SUCCESS) throw MpiError(operation, code);
}

}  // namespace dtrain::comm
