// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mpi.h>

namespace dtrain::comm {

/// Reads non-shared memory of the other processes of a node, if the system allows it (process_vm_readv: the
/// same user, and no container or security module in between).
class OtherMemory {
  public:
    /// Determines whether all ranks can read each other. Collective over `node`.
    explicit OtherMemory(MPI_Comm node);

    /// The same on all ranks of the node.
    bool is_readable() const { return is_readable_; }

    /// Fills `to` from `address` in the process of the node's rank `rank`. @throws Error if that process has
    /// ended
    void read(int rank, std::uint64_t address, std::span<std::byte> to) const;

  private:
    std::vector<int> processes_;
    bool is_readable_ = false;
};

}  // namespace dtrain::comm
