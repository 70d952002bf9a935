// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "comm/api/backend.hpp"
#include "comm/nccl/nccl_port.hpp"

namespace dtrain::comm {

/// Memory registered with a NCCL communicator. Released memory is freed when no operation is pending, always
/// before the communicator ends: owners of memory keep the communicator alive.
class NcclMemory {
  public:
    explicit NcclMemory(NcclPort& port) : port_(port) {}
    NcclMemory(const NcclMemory&) = delete;
    NcclMemory& operator=(const NcclMemory&) = delete;

    /// An owner of the memory, which also keeps the backend alive.
    std::shared_ptr<void> keep(const NcclPort::Memory& memory, std::shared_ptr<CommunicatorBackend> backend);

    /// Call while no operation is pending.
    void free_released();

  private:
    NcclPort& port_;
    std::vector<NcclPort::Memory> released_;
};

}  // namespace dtrain::comm
