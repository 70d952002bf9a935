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

/// Memory for tensors that come and go. Of the free blocks of a size the one that was made first is given
/// out: so a loop whose steps take and give back the same sizes in the same order gets the same addresses in
/// every step, and kernels that were prepared for them fit again. Blocks are kept for later; sizes are
/// rounded up, by a quarter at most, so that there are few of them. One thread at a time.
class BlockPool : public std::enable_shared_from_this<BlockPool> {
  public:
    /// Makes blocks, aligned to 64 bytes at least.
    using Allocate = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;

    /// Of this process' memory.
    BlockPool();
    explicit BlockPool(Allocate allocate) : allocate_(std::move(allocate)) {}

    /// Of any content. It comes back when the last copy of the pointer goes; that may be after everybody else
    /// has forgotten the pool.
    std::shared_ptr<std::byte> take(std::size_t bytes);

    /// Of all blocks, used or not.
    std::size_t bytes() const { return bytes_; }

  private:
    struct Blocks {
        std::vector<std::shared_ptr<std::byte>> all;
        std::set<std::size_t> free;  // numbers
    };

    Allocate allocate_;
    std::map<std::size_t, Blocks> by_size_;
    std::size_t bytes_ = 0;
};

/// What a block for so many bytes really has.
std::size_t block_size(std::size_t bytes);

}  // namespace dtrain::eager
