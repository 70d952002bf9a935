// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <type_traits>
#include <vector>

#include "base/huge_pages.hpp"

namespace dtrain::ps {

/// Memory for the many sets of an index, which have few different sizes. Sets of equal size share slabs;
/// large ones are on huge pages, where access is faster. A slab without sets is freed, so that the sizes that
/// a table has outgrown cost nothing. Thread-safe.
class SetMemory {
  public:
    /// @returns a block aligned to 16 bytes. @throws std::bad_alloc
    void* take(std::size_t bytes);

    void give_back(void* block) noexcept;

    /// Resident bytes that are not part of a taken block.
    std::size_t spare_bytes() const;

  private:
    // Blocks of one size. Blocks that were never taken have no memory, except where they share a page with
    // others.
    struct Slab {
        HugePages memory;
        std::size_t block_bytes;
        std::size_t blocks;
        std::size_t begun = 0;  // blocks below were taken at some time
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

/// Allocates a container's memory from a SetMemory, which must outlive it.
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
