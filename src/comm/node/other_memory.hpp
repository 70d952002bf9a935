// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dtrain/error.hpp>

namespace dtrain::comm {

class Peers;

/// Memory of a process that has ended, or does not let itself be read any longer.
class MemoryGone : public Error {
  public:
    MemoryGone(const std::string& message, int rank) : Error(message), rank_(rank) {}
    int rank() const { return rank_; }  ///< of the node

  private:
    int rank_;
};

/// Reads non-shared memory of the other processes of a node, if the system allows it (process_vm_readv: the
/// same user, and no container or security module in between).
class OtherMemory {
  public:
    /// Determines whether all ranks can read each other. Collective.
    explicit OtherMemory(const Peers& node);

    /// The same on all ranks of the node.
    bool is_readable() const { return is_readable_; }

    /// Fills `to` from `address` in the process of the node's rank `rank`. @throws MemoryGone
    void read(int rank, std::uint64_t address, std::span<std::byte> to) const;

    /// process_mark() of each rank of the node.
    const std::vector<std::uint64_t>& marks() const { return marks_; }

  private:
    std::vector<int> processes_;
    std::vector<std::uint64_t> marks_;
    bool is_readable_ = false;
};

}  // namespace dtrain::comm
