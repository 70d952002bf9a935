// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dtrain/error.hpp>

#include "comm/failure/rank_process.hpp"

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

/// Reads and writes non-shared memory of the other processes of a node, if the system allows it
/// (process_vm_readv: the same user, and no container or security module in between).
class OtherMemory {
  public:
    /// Determines whether all ranks can read and write each other. Collective.
    explicit OtherMemory(const Peers& node);

    /// The same on all ranks of the node.
    bool is_open() const { return is_open_; }

    /// Fills `to` from `address` in the process of the node's rank `rank`. @throws MemoryGone
    void read(int rank, std::uint64_t address, std::span<std::byte> to) const;

    /// Copies `from` to `address` in the process of the node's rank `rank`. @throws MemoryGone
    void write(int rank, std::uint64_t address, std::span<const std::byte> from) const;

    /// To be called before a write: a process that has ended may have left its pid to another. @throws
    /// MemoryGone
    void check_is_there(int rank) const;

    /// "its process, 4711, has ended", if that of the node's rank `rank` has.
    std::optional<std::string> why_gone(int rank) const;

    /// process_mark() of each rank of the node.
    const std::vector<std::uint64_t>& marks() const { return marks_; }

  private:
    [[noreturn]] void throw_gone(int rank, const char* what) const;

    std::vector<RankProcess> processes_;
    std::vector<std::uint64_t> mark_addresses_;
    std::vector<std::uint64_t> marks_;
    bool is_open_ = false;
};

}  // namespace dtrain::comm
