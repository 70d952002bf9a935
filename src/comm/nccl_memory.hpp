// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "comm/backend.hpp"
#include "comm/nccl_port.hpp"

namespace dtrain::comm {

/// Memory that a NCCL communicator knows. What nobody holds any longer is freed when nothing is under way,
/// always before the communicator ends: whoever holds memory keeps that.
class NcclMemory {
  public:
    explicit NcclMemory(NcclPort& port) : port_(port) {}
    NcclMemory(const NcclMemory&) = delete;
    NcclMemory& operator=(const NcclMemory&) = delete;

    /// An owner of it, which keeps the back end too.
    std::shared_ptr<void> keep(const NcclPort::Memory& memory, std::shared_ptr<CommunicatorBackend> backend);

    /// While no operation is under way.
    void free_released();

  private:
    NcclPort& port_;
    std::vector<NcclPort::Memory> released_;
};

}  // namespace dtrain::comm
