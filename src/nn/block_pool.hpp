// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace dtrain::eager {

/// A pool for tensor memory. Of the free blocks of a size, the oldest one is reused: a loop whose steps
/// allocate and free the same sizes in the same order gets the same addresses in every step, so that kernels
/// that were prepared for them can be reused. Blocks are kept for reuse; sizes are rounded up by at most a
/// quarter, so that there are few different ones. One thread at a time.
class BlockPool : public std::enable_shared_from_this<BlockPool> {
  public:
    /// Allocates a block, aligned to at least 64 bytes.
    using Allocate = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;

    /// A pool of host memory.
    BlockPool();
    explicit BlockPool(Allocate allocate) : allocate_(std::move(allocate)) {}

    /// Uninitialised memory. It returns to the pool when the last copy of the pointer is destroyed, which may
    /// be after all other owners of the pool are gone.
    std::shared_ptr<std::byte> take(std::size_t bytes);

    /// Total size of all blocks, used or free.
    std::size_t bytes() const { return bytes_; }

  private:
    struct Blocks {
        std::vector<std::shared_ptr<std::byte>> all;
        std::set<std::size_t> free;  // ages: a lower number is an older block
    };

    Allocate allocate_;
    std::map<std::size_t, Blocks> by_size_;
    std::size_t bytes_ = 0;
};

/// The actual size of a block for this many bytes.
std::size_t block_size(std::size_t bytes);

}  // namespace dtrain::eager
