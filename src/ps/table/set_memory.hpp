// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <type_traits>
#include <vector>

#include "base/huge_pages.hpp"

namespace dtrain::ps {

/// Memory of the many sets of an index, which have few sizes. Sets of a size lie together, large ones on huge
/// pages, where they are found sooner; where all have gone the memory goes back, so that what a table has
/// doubled out of is of no weight. From any number of threads.
class SetMemory {
  public:
    /// @returns a block at a multiple of 16 bytes. @throws std::bad_alloc
    void* take(std::size_t bytes);

    void give_back(void* block) noexcept;

    /// Beyond the blocks that are taken.
    std::size_t spare_bytes() const;

  private:
    // Blocks of one size. Those that were never taken have no memory but what shares a page with others.
    struct Slab {
        HugePages memory;
        std::size_t block_bytes;
        std::size_t blocks;
        std::size_t begun = 0;  // blocks before were taken at some time
        std::vector<std::byte*> free;

        explicit Slab(std::size_t block_bytes);
        bool is_full() const { return free.empty() && begun == blocks; }
        std::size_t taken() const { return begun - free.size(); }
        bool contains(const std::byte* block) const;
        std::size_t spare_bytes() const;
    };

    mutable std::mutex mutex_;
    std::vector<Slab> slabs_;
};

/// Takes a container's memory from a SetMemory that outlives it.
template <class T>
class SetAllocator {
  public:
    using value_type = T;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    explicit SetAllocator(SetMemory& memory) : memory_(&memory) {}
    template <class U>
    SetAllocator(const SetAllocator<U>& other) : memory_(other.memory()) {}

    T* allocate(std::size_t count) { return static_cast<T*>(memory_->take(count * sizeof(T))); }
    void deallocate(T* block, std::size_t /*count*/) noexcept { memory_->give_back(block); }

    SetMemory* memory() const { return memory_; }

    template <class U>
    bool operator==(const SetAllocator<U>& other) const {
        return memory_ == other.memory();
    }

  private:
    SetMemory* memory_;
};

}  // namespace dtrain::ps
