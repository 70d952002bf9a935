// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <mpi.h>

#include "comm/api/backend.hpp"

namespace dtrain::comm {

/// A backend over a duplicate of `parent`. Collective over it. @throws MpiError, UsageError, Error
std::shared_ptr<CommunicatorBackend> mpi_backend(MPI_Comm parent);

}  // namespace dtrain::comm
