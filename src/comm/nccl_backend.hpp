// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dtrain/nccl.hpp>

#include "comm/backend.hpp"
#include "comm/nccl_port.hpp"

namespace dtrain::comm {

/// Makes the part of it that is NCCL's, for the ranks of a communicator. Collective. @throws NcclError on all
/// ranks
using MakeNcclPort =
    std::function<std::unique_ptr<NcclPort>(const Communicator& over_mpi, const NcclOptions& options)>;

/// Operations on memory of GPUs by NCCL, on memory of the host over MPI. Collective.
std::shared_ptr<CommunicatorBackend> nccl_backend(const Communicator& over_mpi, const NcclOptions& options,
                                                  const MakeNcclPort& make_port);

}  // namespace dtrain::comm
