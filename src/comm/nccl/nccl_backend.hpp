// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dtrain/nccl.hpp>

#include "comm/api/backend.hpp"
#include "comm/nccl/nccl_port.hpp"

namespace dtrain::comm {

/// Creates the NCCL part of a backend, for the ranks of a communicator. Collective. @throws NcclError on all
/// ranks
using MakeNcclPort =
    std::function<std::unique_ptr<NcclPort>(const Communicator& over_mpi, const NcclOptions& options)>;

/// Operations on GPU memory through NCCL, on host memory through MPI. Collective.
std::shared_ptr<CommunicatorBackend> nccl_backend(const Communicator& over_mpi, const NcclOptions& options,
                                                  const MakeNcclPort& make_port);

}  // namespace dtrain::comm
