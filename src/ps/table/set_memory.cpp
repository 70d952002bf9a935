// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/set_memory.hpp"

#include <algorithm>

namespace dtrain::ps {
namespace {

constexpr std::size_t alignment = 16;
constexpr std::size_t min_blocks = 6;  // per slab: at 5 bytes per slot they fill a power of two

bool is_huge(std::size_t block_bytes) {
    return min_blocks * block_bytes >= huge_page / 4;
}

std::size_t slab_bytes(std::size_t block_bytes) {
    const auto bytes = min_blocks * block_bytes;
    return is_huge(block_bytes) ? aligned_to<huge_page>(bytes) : aligned_to<memory_page>(bytes);
}

}  // namespace

SetMemory::Slab::Slab(std::size_t bytes_of_block)
    : memory(make_huge_pages(slab_bytes(bytes_of_block))),
      block_bytes(bytes_of_block),
      blocks(slab_bytes(bytes_of_block) / bytes_of_block) {
    free.reserve(blocks);  // so that give_back() cannot throw
}

bool SetMemory::Slab::contains(const std::byte* block) const {
    return block >= memory.get() && block < memory.get() + blocks * block_bytes;
}

std::size_t SetMemory::Slab::spare_bytes() const {
    const auto touched = begun * block_bytes;
    return (is_huge(block_bytes) ? aligned_to<huge_page>(touched) : aligned_to<memory_page>(touched)) -
           taken() * block_bytes;
}

void* SetMemory::take(std::size_t bytes) {
    const auto block_bytes = aligned_to<alignment>(bytes);
    const std::scoped_lock lock(mutex_);
    auto slab = std::ranges::find_if(
        slabs_, [block_bytes](const Slab& one) { return one.block_bytes == block_bytes && !one.is_full(); });
    if (slab == slabs_.end()) slab = slabs_.insert(slabs_.end(), Slab(block_bytes));
    if (slab->free.empty()) return slab->memory.get() + slab->begun++ * block_bytes;
    auto* const block = slab->free.back();
    slab->free.pop_back();
    return block;
}

void SetMemory::give_back(void* block) noexcept {
    auto* const memory = static_cast<std::byte*>(block);
    const std::scoped_lock lock(mutex_);
    const auto slab =
        std::ranges::find_if(slabs_, [memory](const Slab& one) { return one.contains(memory); });
    slab->free.push_back(memory);
    if (slab->taken() == 0) slabs_.erase(slab);
}

std::size_t SetMemory::spare_bytes() const {
    const std::scoped_lock lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& slab : slabs_) bytes += slab.spare_bytes();
    return bytes;
}

}  // namespace dtrain::ps
